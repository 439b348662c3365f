import { z } from 'zod';
import { ErrorBody } from '../values/errors.ts';
import { NodeId, RepositoryId, TaskId } from '../values/ids.ts';
import { JsonObject } from '../values/json.ts';
import { Lock, Outcome } from '../workflow/workflow.ts';

/** An attempt at a node of a task. */
const job = { task: TaskId, node: NodeId, attempt: z.int().min(1) } as const;
export const Job = z.object(job);
export type Job = z.infer<typeof Job>;

const Label = z.string().min(1).max(1_024);

/** How a task stands towards an artifact that other tasks may need: it may still come, it is there, or it will not come. */
export const ArtifactReport = z.object({
  label: Label,
  node: NodeId,
  state: z.enum(['pending', 'available', 'failed']),
  payload: JsonObject.optional(),
});
export type ArtifactReport = z.infer<typeof ArtifactReport>;

/** What a task asks of the board of its repository. */
export const RegistryRequest = z.discriminatedUnion('kind', [
  /** All of the locks, or none yet. Whoever waits is served in order of `since`, when its task was submitted. */
  z.object({ kind: z.literal('acquire'), ...job, locks: z.array(Lock).min(1).max(100), since: z.int() }),
  z.object({ kind: z.literal('release'), ...job }),
  /** Everything that the task may give to others, as it stands; a higher serial replaces a lower one. */
  z.object({
    kind: z.literal('report'),
    task: TaskId,
    serial: z.int().min(1),
    artifacts: z.array(ArtifactReport).max(2_000),
  }),
  /** How these stand now, and again each time that one of them changes. */
  z.object({ kind: z.literal('require'), ...job, labels: z.array(Label).min(1).max(100) }),
]);
export type RegistryRequest = z.infer<typeof RegistryRequest>;

/** To the board of a repository: who holds which lock there, and who makes which artifact. */
export const RegistryCommand = z.object({ id: RepositoryId, request: RegistryRequest });
export type RegistryCommand = z.infer<typeof RegistryCommand>;

export const ArtifactState = z.object({
  label: Label,
  state: z.enum(['available', 'pending', 'failed', 'missing']),
  /** The job that made it, makes it, or failed to. */
  by: z.string().optional(),
  payload: JsonObject.optional(),
});
export type ArtifactState = z.infer<typeof ArtifactState>;

/** What a task is told by the board of its repository, or by another task that it waits for. */
export const Notification = z.discriminatedUnion('kind', [
  /** Said again from time to time to whoever holds locks: who does not need them any more releases them. */
  z.object({
    kind: z.literal('locks'),
    ...job,
    repository: RepositoryId,
    acquired: z.boolean(),
    /** Jobs that have to end first. */
    waitingFor: z.array(z.string()),
  }),
  z.object({ kind: z.literal('reported'), task: TaskId, serial: z.int().min(1) }),
  z.object({ kind: z.literal('artifacts'), ...job, artifactStates: z.array(ArtifactState) }),
  /** How a job of another task ended; without `node` the task as a whole. */
  z.object({
    kind: z.literal('peer'),
    task: TaskId,
    peer: TaskId,
    node: NodeId.optional(),
    outcome: z.union([Outcome, z.literal('unknown')]),
    /** Of a task as a whole that has one node: what that gave, when it is not too large; and why it did not succeed. */
    outputs: JsonObject.optional(),
    error: ErrorBody.optional(),
  }),
]);
export type Notification = z.infer<typeof Notification>;
export const NotifyTask = z.object({ id: TaskId, notification: Notification });
export type NotifyTask = z.infer<typeof NotifyTask>;

const fact = <Type extends string, Shape extends z.core.$ZodLooseShape>(type: Type, shape: Shape) =>
  z.object({ type: z.literal(type), id: RepositoryId, ...shape });

export const RegistryEvent = z.discriminatedUnion('type', [
  fact('lock_queued', { ...job, locks: z.array(Lock), since: z.int() }),
  fact('lock_acquired', { ...job, locks: z.array(Lock) }),
  fact('lock_released', job),
  fact('artifacts_reported', { task: TaskId, serial: z.int(), artifacts: z.array(ArtifactReport), at: z.int() }),
  fact('artifact_watch_added', { ...job, labels: z.array(Label), until: z.int() }),
  fact('artifact_watch_removed', job),
]);
export type RegistryEvent = z.infer<typeof RegistryEvent>;
