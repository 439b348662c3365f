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

/** State of an artifact for other tasks: pending, available or failed. */
export const ArtifactReport = z.object({
  label: Label,
  node: NodeId,
  state: z.enum(['pending', 'available', 'failed']),
  payload: JsonObject.optional(),
});
export type ArtifactReport = z.infer<typeof ArtifactReport>;

/** Request of a task to its repository registry. */
export const RegistryRequest = z.discriminatedUnion('kind', [
  /** Acquires all locks, or none yet. Waiting tasks are served in order of `since`, their submission time. */
  z.object({ kind: z.literal('acquire'), ...job, locks: z.array(Lock).min(1).max(100), since: z.int() }),
  z.object({ kind: z.literal('release'), ...job }),
  /** All artifacts of the task; a higher serial replaces a lower one. */
  z.object({
    kind: z.literal('report'),
    task: TaskId,
    serial: z.int().min(1),
    artifacts: z.array(ArtifactReport).max(2_000),
  }),
  /** Asks for the state of these artifacts, now and after every change. */
  z.object({ kind: z.literal('require'), ...job, labels: z.array(Label).min(1).max(100) }),
]);
export type RegistryRequest = z.infer<typeof RegistryRequest>;

/** Command to the registry of locks and artifacts of a repository. */
export const RegistryCommand = z.object({ id: RepositoryId, request: RegistryRequest });
export type RegistryCommand = z.infer<typeof RegistryCommand>;

export const ArtifactState = z.object({
  label: Label,
  state: z.enum(['available', 'pending', 'failed', 'missing']),
  /** The job that produces the artifact, or failed to. */
  by: z.string().optional(),
  payload: JsonObject.optional(),
});
export type ArtifactState = z.infer<typeof ArtifactState>;

/** Notification from the registry, or from a task that this one waits for. */
export const Notification = z.discriminatedUnion('kind', [
  /** Repeated periodically to lock holders: a job that no longer needs its locks releases them. */
  z.object({
    kind: z.literal('locks'),
    ...job,
    repository: RepositoryId,
    acquired: z.boolean(),
    /** Jobs that must end first. */
    waitingFor: z.array(z.string()),
  }),
  z.object({ kind: z.literal('reported'), task: TaskId, serial: z.int().min(1) }),
  z.object({ kind: z.literal('artifacts'), ...job, artifactStates: z.array(ArtifactState) }),
  /** End of a job in another task; without `node`, of the whole task. */
  z.object({
    kind: z.literal('peer'),
    task: TaskId,
    peer: TaskId,
    node: NodeId.optional(),
    outcome: z.union([Outcome, z.literal('unknown')]),
    /** For a whole task with one node: its outputs, unless they are too large, and its error. */
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
  fact('artifacts_reported', {
    task: TaskId,
    serial: z.int(),
    artifacts: z.array(ArtifactReport),
    at: z.int(),
  }),
  fact('artifact_watch_added', { ...job, labels: z.array(Label), until: z.int() }),
  fact('artifact_watch_removed', job),
]);
export type RegistryEvent = z.infer<typeof RegistryEvent>;
