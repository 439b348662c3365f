import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import { type PhaseEnd, type PhaseFailure, STATE_MAX_BYTES } from '@holdpoint/contracts/program/work';
import { NodeId } from '@holdpoint/contracts/values/ids';
import { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import type { PhaseError } from '../../definition/context.ts';
import type { AnyContext, AnyGuard, Next } from '../../definition/phase.ts';
import type { Workflow } from '../../definition/workflow.ts';
import type { Branch } from '../context/activity.ts';
import { type ContextParts, createContext } from '../context/create-context.ts';
import { inStage, StageError } from './failure.ts';
import { retryWhileUnavailable } from '../context/retry.ts';
import { jsonBytes, toJson } from '../context/json-value.ts';
import type { Lifetime } from '../session/lifetime.ts';
import type { WorkPort } from '../session/port.ts';
import { checkState } from '../context/state.ts';

/** One running phase of one task. */
export type PhaseRun = ContextParts & {
  readonly workflow: Workflow;
  readonly port: WorkPort;
  readonly life: Lifetime;
  /** The branch of the phase itself. */
  readonly root: Branch;
};

export const contextOf = (run: PhaseRun, life = run.life): AnyContext => createContext(run, life, run.root);

/** Runs one part of a phase while the phase is allowed to run. */
export const runPart = <Value>(
  { life }: Pick<PhaseRun, 'life'>,
  stage: Parameters<typeof inStage>[0],
  body: () => Value | Promise<Value>,
): Promise<Value> => inStage(stage, () => life.during(body));

/** A failure as the author of the phase sees it. */
export const phaseErrorOf = (
  { order, given }: Pick<PhaseRun, 'order' | 'given'>,
  { error, attempt, stage }: PhaseFailure,
): PhaseError => ({ ...error, attempt, stage, fromPhase: given.from, toPhase: order.node });

/** The latest failed attempt. */
export const lastFailure = (run: Pick<PhaseRun, 'order' | 'given'>): PhaseError | undefined => {
  const last = run.given.failures.at(-1);
  return last && phaseErrorOf(run, last);
};

/** Whether the guard lets the phase run. */
export const isWanted = async (run: PhaseRun, guard: AnyGuard): Promise<boolean> => {
  if (guard === undefined) return true;
  const said: unknown = await runPart(run, 'guard', () => guard(run.state.current(), contextOf(run)));
  if (typeof said === 'boolean') return said;
  throw new StageError('guard', new TypeError('a guard must return true or false'));
};

/** The next phase. Throws `PROGRAM_NEXT_UNKNOWN` if it does not exist. */
export const nextOf = <Arguments extends readonly unknown[]>(
  { workflow: { phases } }: Pick<PhaseRun, 'workflow'>,
  next: Next<string, Arguments>,
  ...args: Arguments
): Promise<NodeId> =>
  inStage('next', () => {
    const name: unknown = typeof next === 'function' ? next(...args) : next;
    if (typeof name === 'string' && phases.has(name)) return NodeId.parse(name);
    const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 100).toWellFormed()) : typeof name;
    throw new HoldpointError('PROGRAM_NEXT_UNKNOWN', `next names no phase: ${shown}`);
  });

export const stateAfter = (
  { workflow: { schema }, state }: Pick<PhaseRun, 'workflow' | 'state'>,
  stage: Parameters<typeof inStage>[0],
): Promise<JsonObject> => inStage(stage, () => checkState(schema, state.current()));

/** Distinguishes a large output from artifacts that the author stored. */
export const OUTPUT_MEDIA_TYPE = 'application/vnd.holdpoint.output+json';

/** The stored form of an output; large ones become an artifact. Throws `PROGRAM_OUTPUT_INVALID`. */
export const storedOutput = async (run: PhaseRun, output: unknown): Promise<{ readonly output?: Json }> => {
  if (output === undefined) return {};
  const json = toJson(output, { code: 'PROGRAM_OUTPUT_INVALID', what: 'output' });
  if (jsonBytes(json) <= STATE_MAX_BYTES) return { output: json };
  const { task, node, attempt } = run.order;
  const origin = { name: `${node}.output.json`, mediaType: OUTPUT_MEDIA_TYPE, task, node, attempt };
  const content = Buffer.from(JSON.stringify(json));
  return { output: await retryWhileUnavailable(run.clock, () => run.port.keep(content, origin)) };
};

/** The original output, fetched from its artifact if needed. */
export const fullOutput = async (
  port: Pick<WorkPort, 'fetch'>,
  output: Json | undefined,
): Promise<Json | undefined> => {
  const { success, data } = StoredArtifact.safeParse(output);
  if (!success || data.mediaType !== OUTPUT_MEDIA_TYPE) return output;
  return JSON.parse(Buffer.from(await port.fetch(data)).toString('utf8')) as Json;
};

export type Completed = Extract<PhaseEnd, { readonly kind: 'completed' }>;
