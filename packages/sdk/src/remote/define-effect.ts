import { CapabilityDefinition, remoteTargetOf } from '@holdpoint/contracts/approval/capability';
import { remoteLabelOf } from '@holdpoint/contracts/effect/remote-name';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { asSent, canonicalJson, JsonObject } from '@holdpoint/contracts/values/json';
import { z } from 'zod';
import type { Awaitable, EffectRequest } from '../definition/context.ts';
import type { RemoteConnection } from './connection.ts';
import { type HeldHandle, type HoldOptions, holdOver } from './hold.ts';

/** What a function knows about the order that it carries out. */
export type RemoteContext = {
  /** Permanent id of the effect. */
  readonly id: string;
  /** The idempotency key of the effect: pass it to a target that remembers keys. */
  readonly key: string;
  /** Rises with every start. Pass it to a fenced target. */
  readonly epoch: number;
  readonly task: string;
  /** For `run`, `probe` and `compensate`: the preview that people approved, of an effect with one. */
  readonly preview?: JsonObject;
  /** Aborts after a cancellation, a lost lease or `timeoutMs`; `reason` is an error that says which. */
  readonly signal: AbortSignal;
  /** Asks the ledger whether this start still holds the effect. Throws `EXECUTOR_CLAIM_LOST` or `EXECUTOR_CANCELLED`. */
  readonly assertInForce: () => Promise<void>;
};

/** `not_applied` needs proof that all earlier starts have ended: see `seat` of a claimant. */
export type Finding<Outputs> =
  | 'applied'
  | 'not_applied'
  | 'unknown'
  | {
      readonly found: 'applied' | 'not_applied' | 'unknown';
      readonly reason?: string;
      readonly outputs?: Outputs;
    };

type Wanted = z.input<typeof CapabilityDefinition>;

export type EffectOptions<Args, Outputs> = Pick<
  Wanted,
  'name' | 'description' | 'kind' | 'effectClass' | 'risk' | 'target' | 'timeoutMs'
> & {
  /** Title of requests, such as `Refund ${cents} cents of ${charge}`; the name by default. */
  readonly title?: string;
  /** Arguments. Defaults count; other transformations are refused, because the approved arguments are those that run. */
  readonly input: z.ZodType<Args>;
  readonly output?: z.ZodType<Outputs>;
  /** Identifies the effect: the same key of a capability is the same effect. */
  readonly key: (args: Args) => string;
  /** Carries the effect out, once per start. An error means that the outcome is unknown; see {@link NothingHappened}. */
  readonly run: (args: Args, context: RemoteContext) => Awaitable<Outputs>;
  /** Shows approvers what would happen. It must change nothing. */
  readonly preview?: (args: Args, context: RemoteContext) => Awaitable<JsonObject>;
  /** Finds out whether the effect was applied. It must change nothing. */
  readonly probe?: (args: Args, context: RemoteContext) => Awaitable<Finding<Outputs>>;
  /** Undoes an applied effect. */
  readonly compensate?: (
    applied: { readonly args: Args; readonly outputs: Outputs },
    context: RemoteContext,
  ) => Awaitable<JsonObject>;
};

/** One's own function behind the gate. */
export type RemoteEffect<Args = never, Outputs = unknown> = {
  readonly name: string;
  /** `cap.remote.<name>` */
  readonly uses: string;
  readonly definition: CapabilityDefinition;
  readonly options: EffectOptions<Args, Outputs>;
  /** Requests the effect. It runs once, after an approval. */
  readonly hold: (
    connection: RemoteConnection,
    args: Args,
    options?: HoldOptions,
  ) => Promise<HeldHandle<Outputs>>;
  /** The effect as a request of a workflow in TypeScript. */
  readonly request: (args: Args) => EffectRequest<Outputs>;
};
// oxlint-disable-next-line typescript/no-explicit-any -- Functions of any arguments.
export type AnyRemoteEffect = RemoteEffect<any, any>;

const schemaOf = (name: string, what: string, schema: z.ZodType): JsonObject => {
  try {
    return asSent(z.toJSONSchema(schema, { io: 'output' }));
  } catch (cause) {
    throw new TypeError(`${name}: the ${what} schema has no JSON Schema: remove its transformations`, {
      cause,
    });
  }
};

/** The arguments as they are approved and run. Throws `APPROVALS_ARGUMENTS_INVALID`. */
export const checkedArgs = <Args>(
  { name, input }: Pick<EffectOptions<Args, unknown>, 'name' | 'input'>,
  args: unknown,
): { readonly parsed: Args; readonly sent: JsonObject } => {
  const refused = (why: string): HoldpointError =>
    new HoldpointError('APPROVALS_ARGUMENTS_INVALID', `arguments of ${name}: ${why}`);
  const { success, data, error } = input.safeParse(args);
  if (!success) throw refused(z.prettifyError(error));
  const sent = JsonObject.safeParse(asSent(data as object)).data;
  if (sent === undefined) throw refused('not a JSON object');
  const again = input.safeParse(sent);
  if (!again.success || canonicalJson(asSent(again.data as object)) !== canonicalJson(sent))
    throw refused('the schema changes them when it reads them again');
  return { parsed: again.data, sent };
};

/** Puts a function behind the gate: it runs once per key, after an approver has seen its exact arguments. */
export const defineEffect = <Args extends object, Outputs extends object = JsonObject>(
  options: EffectOptions<Args, Outputs>,
): RemoteEffect<Args, Outputs> => {
  const { name, title = name, description, input, output, preview, probe, compensate } = options;
  const { kind, effectClass, risk, target, timeoutMs } = options;
  const { success, data, error } = CapabilityDefinition.safeParse({
    name,
    title,
    description,
    kind,
    effectClass,
    risk,
    target,
    timeoutMs,
    input: schemaOf(name, 'input', input),
    ...(output && { output: schemaOf(name, 'output', output) }),
    ...(preview && { preview: true }),
    ...(probe && { probe: true }),
    ...(compensate && { compensate: true }),
  });
  if (!success) throw new TypeError(`invalid effect ${name}: ${z.prettifyError(error)}`);
  const definition = CapabilityDefinition.parse(asSent(data));
  const uses = remoteLabelOf(name);
  return {
    name,
    uses,
    definition,
    options,
    hold: async (connection, args, holding) => {
      const { parsed, sent } = checkedArgs(options, args);
      const wanted = { capability: name, args: sent, key: options.key(parsed), ...holding };
      return holdOver(connection, wanted, output);
    },
    request: (args) => {
      const { parsed, sent } = checkedArgs(options, args);
      return {
        capability: uses,
        args: sent,
        idempotencyKey: options.key(parsed),
        kind: definition.kind,
        effectClass: definition.effectClass,
        target: remoteTargetOf(definition, sent),
        ...(preview && { previews: true as const }),
        ...(output && { result: output }),
      };
    },
  };
};
