import type { Job } from '@holdpoint/contracts/task/registry';
import type { NodeId, RepositoryId, TaskId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Lock } from '@holdpoint/contracts/workflow/workflow';

/** Each key at most once. */
export type LockHolder = Job & { readonly locks: readonly Lock[] };
export type LockWaiter = LockHolder & { readonly since: number };

export type ArtifactMaker = { readonly label: string; readonly node: NodeId };

/** The latest report of a task. When nothing is pending any more, in the end only its serial is kept. */
export type Reporter = {
  readonly task: TaskId;
  readonly serial: number;
  readonly coming: readonly ArtifactMaker[];
  readonly failed: readonly ArtifactMaker[];
  /** Labels. The artifacts are in `made`, unless another task has made them since. */
  readonly made: readonly string[];
};

export type AvailableArtifact = ArtifactMaker & {
  readonly task: TaskId;
  readonly payload?: JsonObject;
  /** Size of the payload as JSON. */
  readonly bytes: number;
};

export type ArtifactWatch = Job & { readonly labels: readonly string[]; readonly until: number };

export type Registry = {
  readonly phase: 'board';
  readonly id: RepositoryId;
  readonly version: number;
  /** In the order of their grants. */
  readonly held: readonly LockHolder[];
  /** In the order of service. */
  readonly waiting: readonly LockWaiter[];
  /** In the order of their latest reports. */
  readonly reporters: readonly Reporter[];
  /** The latest of each label, in the order of their creation. */
  readonly made: readonly AvailableArtifact[];
  /** In the order of their requests, or of renewals after half of the time. */
  readonly watches: readonly ArtifactWatch[];
};

export type RegistryState = { readonly phase: 'absent' } | Registry;

export const absent: RegistryState = { phase: 'absent' };

export const emptyRegistry = (id: RepositoryId): Registry => ({
  phase: 'board',
  id,
  version: 0,
  held: [],
  waiting: [],
  reporters: [],
  made: [],
  watches: [],
});

type NodeOfTask = Pick<Job, 'task' | 'node'>;

/** Attempts of one node are the same job. */
export const isSameNode = (one: NodeOfTask, other: NodeOfTask): boolean =>
  one.task === other.task && one.node === other.node;

export const withoutNode = <Each extends NodeOfTask>(
  all: readonly Each[],
  job: NodeOfTask,
): readonly Each[] => all.filter((each) => !isSameNode(each, job));

export const jobIn = ({ task, node, attempt }: Job): Job => ({ task, node, attempt });
