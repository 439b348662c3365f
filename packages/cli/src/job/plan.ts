import { jobOf } from '@holdpoint/contracts/values/ids';
import type { Job } from './job.ts';
import { isBlocked, isEnded } from './status.ts';

/** Why one job comes after another. */
export type Edge =
  | { readonly from: string; readonly to: string; readonly after: { readonly policy: 'success' } }
  | {
      readonly from: string;
      readonly to: string;
      readonly artifact: string;
      readonly state: 'present' | 'coming' | 'missing';
    };

/** Jobs in the order in which they are served, and what holds them together. */
export type Plan = { readonly jobs: readonly Job[]; readonly edges: readonly Edge[] };

export const ORDERING = 'created_at_then_job_id';

const byAge = (one: Job, other: Job): number =>
  (one.createdAt ?? 0) - (other.createdAt ?? 0) || (one.id < other.id ? -1 : 1);

/** What the entry nodes of a run were told to wait for, as jobs. */
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

/** Artifacts are known by their label, within a run and within its repository. */
const artifactEdges = (job: Job, producers: ReadonlyMap<string, readonly Job[]>): readonly Edge[] =>
  (job.node.needs ?? []).flatMap((artifact): readonly Edge[] => {
    const made = (producers.get(artifact) ?? []).filter(
      ({ run }) => run.id === job.run.id || run.repository === job.run.repository,
    );
    if (made.length === 0) return [{ from: '', to: job.id, artifact, state: 'missing' }];
    return made.map((producer) => ({ from: producer.id, to: job.id, artifact, state: stateOf(producer) }));
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
    [...producers].map(([artifact, made]) => [artifact, made.map(({ job }) => job)] as const),
  );
  return jobs.flatMap((job) => [...afterEdges(job, sinks), ...artifactEdges(job, byArtifact)]);
};

/** What is going on or held up, and the failures that hold it up; everything with `all`. */
export const planOf = (jobs: readonly Job[], all: boolean): Plan => {
  const edges = edgesOf(jobs);
  const open = jobs.filter(({ node: { job } }) => all || !isEnded(job) || isBlocked(job));
  const shown = new Set(open.map(({ id }) => id));
  const blocking = new Set(edges.filter(({ to }) => shown.has(to)).map(({ from }) => from));
  const failed = jobs.filter(({ id, node: { job } }) => blocking.has(id) && job === 'failed');
  for (const { id } of failed) shown.add(id);
  return {
    jobs: jobs.filter(({ id }) => shown.has(id)).toSorted(byAge),
    edges: edges.filter(({ to }) => shown.has(to)),
  };
};

/** Everything that is at most so many edges away from a job. */
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

/** One job first, then its neighbourhood. */
export const focusOn = ({ jobs, edges }: Plan, id: string, depth: number): Plan => {
  const near = around(edges, id, depth);
  const kept = jobs.filter((job) => near.has(job.id));
  return {
    jobs: [...kept.filter((job) => job.id === id), ...kept.filter((job) => job.id !== id)],
    edges: edges.filter(({ from, to }) => near.has(to) && (from === '' || near.has(from))),
  };
};
