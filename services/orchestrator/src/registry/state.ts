import type { Job } from '@holdpoint/contracts/task/registry';
import type { NodeId, RepositoryId, TaskId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Lock } from '@holdpoint/contracts/workflow/workflow';

/** Each key at most once. */
export type LockHolder = Job & { readonly locks: readonly Lock[] };
export type LockWaiter = LockHolder & { readonly since: number };

export type ArtifactMaker = { readonly label: string; readonly node: NodeId };

/** What a task said last. Long after it has nothing more to come, only the serial of its report is left. */
export type Reporter = {
  readonly task: TaskId;
  readonly serial: number;
  readonly coming: readonly ArtifactMaker[];
  readonly failed: readonly ArtifactMaker[];
  /** Labels: what it made stands in `made` as long as nobody has made it anew. */
  readonly made: readonly string[];
};

export type AvailableArtifact = ArtifactMaker & {
  readonly task: TaskId;
  readonly payload?: JsonObject;
  /** Of the payload as JSON, so that nobody has to write it out to know what all of them take. */
  readonly bytes: number;
};

export type ArtifactWatch = Job & { readonly labels: readonly string[]; readonly until: number };

export type Registry = {
  readonly phase: 'board';
  readonly id: RepositoryId;
  readonly version: number;
  /** In the order in which they were granted. */
  readonly held: readonly LockHolder[];
  /** In the order in which they are served. */
  readonly waiting: readonly LockWaiter[];
  /** In the order of their latest reports. */
  readonly reporters: readonly Reporter[];
  /** The newest of each label, in the order in which they were made. */
  readonly made: readonly AvailableArtifact[];
  /** In the order in which they asked, or asked again after half of their time. */
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

/** Attempts of one node are the same job: it has one place at a time. */
export const isSameNode = (one: NodeOfTask, other: NodeOfTask): boolean =>
  one.task === other.task && one.node === other.node;

export const withoutNode = <Each extends NodeOfTask>(
  all: readonly Each[],
  job: NodeOfTask,
): readonly Each[] => all.filter((each) => !isSameNode(each, job));

/** The job alone, of something that says more about it. */
export const jobIn = ({ task, node, attempt }: Job): Job => ({ task, node, attempt });
