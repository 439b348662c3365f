import { jobOf } from '@holdpoint/contracts/values/ids';
import { hasEnded, type Job } from './job.ts';
import { isBlocked, isEnded } from './status.ts';

/** Reason for the order of two jobs. */
export type Edge =
  | { readonly from: string; readonly to: string; readonly after: { readonly policy: 'success' } }
  | {
      readonly from: string;
      readonly to: string;
      readonly artifact: string;
      readonly state: 'present' | 'coming' | 'missing';
    };

/** Jobs in execution order, with their dependencies. */
export type Plan = { readonly jobs: readonly Job[]; readonly edges: readonly Edge[] };

export const ORDERING = 'created_at_then_job_id';

const byAge = (one: Job, other: Job): number =>
  (one.createdAt ?? 0) - (other.createdAt ?? 0) || (one.id < other.id ? -1 : 1);

/** The dependencies of a task's entry jobs, as jobs. */
const awaitedBy = ({ run }: Job, sinks: ReadonlyMap<string, readonly string[]>): readonly string[] =>
  (run.after ?? []).flatMap((reference) =>
    reference.includes('/') ? [reference] : (sinks.get(reference) ?? [reference]),
  );

const afterEdges = (job: Job, sinks: ReadonlyMap<string, readonly string[]>): readonly Edge[] => {
  const within = job.node.after.map((node) => jobOf(job.run.id, node));
  const across = job.run.entries.includes(job.node.id) ? awaitedBy(job, sinks) : [];
  return [...new Set([...within, ...across])].map((from) => ({
    from,
    to: job.id,
    after: { policy: 'success' },
  }));
};

const stateOf = ({ node: { job } }: Job): 'present' | 'coming' | 'missing' => {
  if (job === 'succeeded') return 'present';
  return isEnded(job) ? 'missing' : 'coming';
};

/** Artifacts are matched by label within a task and its repository. */
const artifactEdges = (job: Job, producers: ReadonlyMap<string, readonly Job[]>): readonly Edge[] =>
  (job.node.needs ?? []).flatMap((artifact): readonly Edge[] => {
    const producing = (producers.get(artifact) ?? []).filter(
      ({ run }) => run.id === job.run.id || run.repository === job.run.repository,
    );
    if (producing.length === 0) return [{ from: '', to: job.id, artifact, state: 'missing' }];
    return producing.map((producer) => ({
      from: producer.id,
      to: job.id,
      artifact,
      state: stateOf(producer),
    }));
  });

const edgesOf = (jobs: readonly Job[]): readonly Edge[] => {
  const sinks = new Map(
    jobs.map(({ run }) => [run.id, run.sinks.map((sink) => jobOf(run.id, sink))] as const),
  );
  const producers = Map.groupBy(
    jobs.flatMap((job) => (job.node.produces ?? []).map((artifact) => ({ artifact, job }))),
    ({ artifact }) => artifact,
  );
  const byArtifact = new Map(
    [...producers].map(([artifact, producing]) => [artifact, producing.map(({ job }) => job)] as const),
  );
  return jobs.flatMap((job) => [...afterEdges(job, sinks), ...artifactEdges(job, byArtifact)]);
};

/** Running and waiting jobs of open tasks with the failures that block them; with `all`, every job. */
export const planOf = (jobs: readonly Job[], all: boolean): Plan => {
  const edges = edgesOf(jobs);
  const open = jobs.filter(
    ({ run, node: { job } }) => all || !isEnded(job) || (isBlocked(job) && !hasEnded(run)),
  );
  const shown = new Set(open.map(({ id }) => id));
  const blocking = new Set(edges.filter(({ to }) => shown.has(to)).map(({ from }) => from));
  const failed = jobs.filter(({ id, node: { job } }) => blocking.has(id) && job === 'failed');
  for (const { id } of failed) shown.add(id);
  return {
    jobs: jobs.filter(({ id }) => shown.has(id)).toSorted(byAge),
    edges: edges.filter(({ to }) => shown.has(to)),
  };
};

/** Jobs within this distance of a job. */
const around = (edges: readonly Edge[], id: string, depth: number): ReadonlySet<string> => {
  const near = new Set([id]);
  for (let step = 0; step < depth; step += 1) {
    const reached = edges.flatMap(({ from, to }) => {
      if (near.has(from)) return [to];
      return near.has(to) && from !== '' ? [from] : [];
    });
    const before = near.size;
    for (const other of reached) near.add(other);
    if (near.size === before) break;
  }
  return near;
};

export const focusOn = ({ jobs, edges }: Plan, id: string, depth: number): Plan => {
  const near = around(edges, id, depth);
  const kept = jobs.filter((job) => near.has(job.id));
  return {
    jobs: [...kept.filter((job) => job.id === id), ...kept.filter((job) => job.id !== id)],
    edges: edges.filter(({ from, to }) => near.has(to) && (from === '' || near.has(from))),
  };
};
