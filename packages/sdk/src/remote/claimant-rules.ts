import { checkGrant } from '@holdpoint/contracts/effect/check-grant';
import {
  type ClaimedOrder,
  REMOTE_OUTPUTS_MAX_BYTES,
  type RemoteFinding,
  type RemoteOutcome,
} from '@holdpoint/contracts/effect/remote';
import { remoteNameIn } from '@holdpoint/contracts/effect/remote-name';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { JsonObject } from '@holdpoint/contracts/values/json';
import type { KeyObject } from 'node:crypto';
import { z } from 'zod';
import type { AnyRemoteEffect, Finding } from './define-effect.ts';
import { NothingHappened } from './effect-errors.ts';

// The decisions of a claimant, without I/O, clock and randomness.

export type Result = RemoteOutcome | RemoteFinding;

/** The part of an effect that an order asks for. */
export type Part = 'run' | 'preview' | 'compensate' | 'probe';

export const partOf = ({ kind, order }: Pick<ClaimedOrder, 'kind' | 'order'>): Part => {
  if (kind === 'probe') return 'probe';
  const last = order.effect.uses.split('.')[3];
  return last === 'preview' || last === 'compensate' ? last : 'run';
};

/** One start of one effect. A probe of that start is another piece of work. */
export const startOf = ({ kind, order, epoch }: Pick<ClaimedOrder, 'kind' | 'order' | 'epoch'>): string =>
  `${kind} ${order.id} ${String(epoch)}`;

/** All labels of the effects, for the claim. */
export const labelsOf = (
  effects: readonly AnyRemoteEffect[],
): { readonly uses: readonly string[]; readonly probes: readonly string[] } => ({
  uses: effects.flatMap(({ uses, options }) => [
    uses,
    ...(options.preview ? [`${uses}.preview`] : []),
    ...(options.compensate ? [`${uses}.compensate`] : []),
  ]),
  probes: effects.filter(({ options }) => options.probe).map(({ uses }) => uses),
});

const readable = (text: string): string => text.slice(0, 2_000).toWellFormed() || 'no reason given';

/** Nothing was started. */
export const refusal = (claimed: Pick<ClaimedOrder, 'kind'>, code: string, message: string): Result =>
  claimed.kind === 'probe'
    ? { kind: 'found', found: 'unknown', reason: readable(`${code}: ${message}`) }
    : { kind: 'failed_clean', error: { code, message: readable(message) } };

/** What to do with an order: refuse it, or run one part of an effect. */
export type Admitted =
  | { readonly kind: 'refused'; readonly code: string; readonly result: Result }
  | {
      readonly kind: 'admitted';
      readonly effect: AnyRemoteEffect;
      readonly part: Part;
      readonly args: unknown;
      /** The approved preview. */
      readonly preview?: JsonObject | undefined;
    };

const objectIn = (value: unknown): JsonObject => JsonObject.safeParse(value).data ?? {};

/** The arguments as the requester gave them, and the preview that was approved with them. */
const givenIn = ({ options }: AnyRemoteEffect, part: Part, args: JsonObject) => {
  if (options.preview === undefined || part === 'preview') return { given: args };
  const { preview, ...given } = args;
  return { given, preview: preview === undefined ? undefined : objectIn(preview) };
};

/** An order is refused unless approvals signed it and it fits the effect of this program. */
export const admit = (
  claimed: ClaimedOrder,
  effects: readonly AnyRemoteEffect[],
  keys: readonly KeyObject[],
  now: number,
): Admitted => {
  const refused = (code: string, message: string): Admitted => ({
    kind: 'refused',
    code,
    result: refusal(claimed, code.startsWith('REMOTE_') ? code : 'REMOTE_GRANT_REFUSED', message),
  });
  const problem = checkGrant(claimed, keys, now);
  if (problem !== undefined) return refused(problem.code, `${problem.code}: ${problem.message}`);
  const { uses, args, kind, effectClass } = claimed.order.effect;
  const part = partOf(claimed);
  const effect = effects.find(({ name }) => name === remoteNameIn(uses));
  if (effect === undefined || effect.options[part] === undefined)
    return refused('REMOTE_NOT_OFFERED', `this program does not carry out ${uses}`);
  const { definition, options } = effect;
  if (part === 'run' && (definition.kind !== kind || definition.effectClass !== effectClass))
    return refused(
      'REMOTE_DEFINITION_DIFFERS',
      `approved as ${effectClass} and ${kind}, but this program has ${definition.effectClass} and ${definition.kind}`,
    );
  const undoes = part === 'compensate';
  const { given, preview } = givenIn(effect, part, undoes ? objectIn(args['args']) : args);
  const parsed: z.ZodSafeParseResult<unknown> = options.input.safeParse(given);
  if (!parsed.success) return refused('REMOTE_ARGUMENTS_INVALID', parsed.error.message);
  const own = undoes ? { args: parsed.data, outputs: objectIn(args['outputs']) } : parsed.data;
  return { kind: 'admitted', effect, part, args: own, preview };
};

/** Outputs as JSON that fits the schema, within the limit. An applied effect is recorded even with invalid outputs. */
export const sentOutputs = (outputs: unknown, schema?: z.ZodType): JsonObject => {
  let parsed = outputs ?? {};
  try {
    if (schema !== undefined) {
      const { success, data, error } = schema.safeParse(parsed);
      if (!success) return { outputsInvalid: readable(z.prettifyError(error)) };
      parsed = data as object;
    }
  } catch (error) {
    return { outputsInvalid: textOf(error) };
  }
  try {
    const text = JSON.stringify(parsed);
    const bytes = Buffer.byteLength(text);
    if (bytes > REMOTE_OUTPUTS_MAX_BYTES) return { outputsTooLarge: bytes };
    const { success, data } = JsonObject.safeParse(JSON.parse(text));
    return success ? data : { outputsInvalid: 'not a JSON object' };
  } catch {
    return { outputsInvalid: 'not JSON' };
  }
};

const textOf = (error: unknown): string => readable(error instanceof Error ? error.message : String(error));

/** The end of a function that returned. */
export const resultOf = (part: Part, returned: unknown, output?: z.ZodType): Result => {
  if (part !== 'probe')
    return { kind: 'applied', outputs: sentOutputs(returned, part === 'run' ? output : undefined) };
  const given = returned as Finding<object> | null | undefined;
  const { found, reason, outputs } =
    typeof given === 'object' && given !== null
      ? given
      : { found: given, reason: undefined, outputs: undefined };
  if (found !== 'applied' && found !== 'not_applied')
    return { kind: 'found', found: 'unknown', reason: readable(reason ?? 'the probe does not know') };
  return {
    kind: 'found',
    found,
    reason: readable(reason ?? `the probe found it ${found}`),
    ...(outputs !== undefined && { outputs: sentOutputs(outputs, output) }),
  };
};

/** The end of a function that threw. Only `NothingHappened` states that nothing happened; a preview changes nothing anyway. */
export const resultOfError = (part: Part, error: unknown): Result => {
  if (part === 'probe') return { kind: 'found', found: 'unknown', reason: textOf(error) };
  if (error instanceof NothingHappened)
    return { kind: 'failed_clean', error: { code: error.code, message: textOf(error) } };
  if (part === 'preview')
    return { kind: 'failed_clean', error: { code: 'REMOTE_PREVIEW_FAILED', message: textOf(error) } };
  return { kind: 'unknown', reason: textOf(error) };
};

const FINAL: ReadonlySet<string> = new Set([
  'EXECUTOR_CLAIM_LOST',
  'EXECUTOR_CLAIM_ENDED',
  'EXECUTOR_CLAIM_SIGNATURE',
  'EXECUTOR_UNKNOWN_EFFECT',
  'CONTRACT_INVALID',
]);

/** Whether a refusal of an end is final. After any other refusal the claimant repeats the end. */
export const isEndOver = (error: unknown): boolean =>
  error instanceof HoldpointError && FINAL.has(error.code);

const REPEATED: ReadonlySet<string> = new Set([
  'RUNTIME_UNAVAILABLE',
  'RUNTIME_POISON',
  'EXECUTOR_TOO_MANY_CLAIMS',
  'EXECUTOR_JOURNAL_UNAVAILABLE',
]);

/** Whether a claim may have been carried out although it failed: then the same name is used again. */
export const mayHoldOrders = (error: unknown): boolean =>
  !(error instanceof HoldpointError) || REPEATED.has(error.code);

/**
 * Whether a beat must confirm the lease before a start: the answer may have travelled so long, or the process may have stood
 * still, that less than half of the lease is left for certain.
 */
export const needsBeat = (sentAt: number, now: number, leaseMs: number): boolean =>
  now - sentAt > leaseMs / 2;
