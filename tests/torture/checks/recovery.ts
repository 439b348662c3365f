import { TaskEvent } from '@holdpoint/contracts/task/events';
import { evolve } from '@holdpoint/orchestrator/task/evolve/evolve';
import { absent, nodeState, type TaskState } from '@holdpoint/orchestrator/task/model/state';
import type { StoredAggregate, StoredEvent } from '../evidence/evidence.ts';
import { LEFT } from '../workload/agent-failures.ts';
import { type Check, takeNotes } from './check.ts';
import { replayTask } from './replay.ts';

type Said = { readonly kind?: string; readonly rule?: string; readonly class?: string };
const verdictOf = ({ data }: StoredEvent): Said | undefined => data['verdict'] as Said | undefined;
const jobOf = ({ data }: StoredEvent): string => `${String(data['node'])} ${String(data['attempt'])}`;

const assessedIn = (recovery: StoredAggregate | undefined): readonly StoredEvent[] =>
  recovery?.events.filter(({ type }) => type === 'assessed') ?? [];

const isGivingUp = (event: StoredEvent): boolean =>
  event.type === 'assessed' && ['skip', 'escalate'].includes(String(verdictOf(event)?.kind));

export const verdicts: Check = {
  id: 'K23',
  promise: 'a failure has one verdict, and that verdict decides what follows',
  graphs: true,
  ofTask: (evidence) => replayTask('K23', evidence),
};

const folded = ({ events }: StoredAggregate): TaskState =>
  events
    .flatMap(({ data }) => TaskEvent.safeParse(data).data ?? [])
    .reduce<TaskState>((state, event) => evolve(state, event), absent);

/** Jobs that recovery gave up and that wait for a person. */
const givenUpIn = (task: StoredAggregate | undefined): ReadonlySet<string> => {
  const state = task === undefined ? absent : folded(task);
  if (state.phase === 'absent') return new Set();
  return new Set(
    state.definition.nodes.flatMap(({ id }) => {
      const { status, verdict } = nodeState(state, id);
      return status === 'escalated' && verdict !== undefined ? [id] : [];
    }),
  );
};

export const stuckJobs: Check = {
  id: 'K24',
  promise: 'the list of stuck jobs has exactly the stuck jobs of all tasks',
  graphs: true,
  ofTask: ({ id, task, recovery }) => {
    const { expect, finding } = takeNotes(id);
    const escalated = givenUpIn(task);
    const jobs = Map.groupBy(recovery?.events ?? [], ({ data }) => String(data['node']));
    for (const [node, events] of jobs) {
      const last = events.findLast(({ type }) =>
        ['assessed', 'attempt_recorded', 'job_unstuck'].includes(type),
      );
      const isListed = last !== undefined && isGivingUp(last);
      expect(
        isListed === escalated.has(node),
        () =>
          `${node} is ${isListed ? '' : 'not '}on the list, and ${escalated.has(node) ? '' : 'not '}stuck`,
      );
    }
    for (const node of escalated)
      expect(
        jobs.get(node)?.some(isGivingUp) === true,
        () => `${node} is stuck, and recovery has not given it up`,
      );
    return finding();
  },
};

/** The number of failures that docs/recovery.md allows for each class. */
const FAILURES_MAX: Readonly<Record<string, number>> = {
  CIRCULAR_FIX: 1,
  BROKEN_BUILD: 2,
  VERIFICATION_FAILED: 3,
  CONTEXT_EXHAUSTED: 6,
  TRANSIENT: 5,
  WORKER_CRASH: 3,
  EFFECT_IN_DOUBT: 1,
  MISCONFIGURED: 1,
  UNKNOWN: 2,
};

/** After a success or the decision of a person counting starts again. */
const isNewStart = ({ type, data }: StoredEvent): boolean =>
  type === 'node_succeeded' ||
  type === 'stuck_answered' ||
  type === 'in_doubt_answered' ||
  ((type === 'node_retrying' || type === 'restarted') && data['verdict'] === undefined);

const nodesIn = ({ type, data }: StoredEvent): readonly string[] =>
  type === 'restarted' ? ((data['nodes'] ?? []) as readonly string[]) : [String(data['node'])];

export const boundedFailures: Check = {
  id: 'K25',
  promise: 'between two decisions of a person no job fails more often than the verdict table allows',
  graphs: true,
  ofTask: ({ id, task, recovery }) => {
    const { expect, finding } = takeNotes(id);
    const classes = new Map(assessedIn(recovery).map((event) => [jobOf(event), verdictOf(event)?.class]));
    const counts = new Map<string, Map<string, number>>();
    for (const event of task?.events ?? []) {
      if (isNewStart(event)) for (const node of nodesIn(event)) counts.delete(node);
      const isCounted = event.type === 'node_failed' && event.data['paused'] === undefined;
      const found = isCounted ? classes.get(jobOf(event)) : undefined;
      if (found === undefined) continue;
      const node = String(event.data['node']);
      const ofJob = counts.get(node) ?? new Map<string, number>();
      counts.set(node, ofJob.set(found, (ofJob.get(found) ?? 0) + 1));
      const max = FAILURES_MAX[found] ?? 0;
      expect(
        (ofJob.get(found) ?? 0) <= max,
        () => `${node} failed more than ${String(max)} times with ${found}, and nobody was asked`,
      );
    }
    return finding();
  },
};

export const rollbacks: Check = {
  id: 'K26',
  promise: 'a rollback leads to an earlier commit of the worktree and saves all of its changes',
  graphs: true,
  ofTask: ({ id, task, saved }) => {
    const { expect, finding } = takeNotes(id);
    const events = task?.events ?? [];
    if (!events.some(({ type }) => type === 'rollback_ordered'))
      expect(saved.length === 0, () => `nothing of it went back, and ${String(saved[0]?.name)} is kept`);
    for (const ended of events) {
      if (ended.type !== 'rollback_ended' || ended.data['outcome'] !== 'succeeded') continue;
      const ordered = events.find(
        (event) => event.type === 'rollback_ordered' && event.data['by'] === ended.data['by'],
      );
      const job = `${id}/${String(ended.data['node'])}/${String(ended.data['attempt'])}`;
      const kept = saved.filter(({ name }) => name.startsWith(`${job}/`));
      expect(kept.length > 0, () => `${job} went back, and nothing of what was there is kept`);
      if (kept.length === 0) continue;
      const commit = String(ordered?.data['commit']);
      expect(
        kept.some(({ commits }) => commits.includes(commit)),
        () => `${job} went back to ${commit}, from which it had not come`,
      );
      expect(
        kept.some(({ files }) => files.includes(LEFT)),
        () => `${job} went back, and what was not committed is gone`,
      );
    }
    return finding();
  },
};
