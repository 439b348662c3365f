import type { Deployment } from '../deployment/deployment.ts';
import type { Operation } from '../history.ts';
import type { Recorder, SeenFact } from '../bus-recorder.ts';
import { AGENT } from '../pages/agent.ts';
import type { Feed } from '../pages/feed.ts';
import type { PlannedTask } from '../workload/planned.ts';
import { childEffectOf, childOf, childSubmissionOf } from '../workload/program.ts';
import { type Application, effectOf, type Target } from '../workload/target.ts';
import type { SavedWork } from '../workload/saved-work.ts';
import type { WorkLine } from '../workload/script-log.ts';
import type { Meant, StoredAggregate, TaskEvidence } from './evidence.ts';
import { foundIn } from './secrets.ts';
import { loadAggregates } from './store.ts';

const AT_ONCE = 400;

export type TasksOptions = {
  readonly deployment: Deployment;
  readonly target: Target;
  readonly operations: readonly Operation[];
  readonly recorder: Recorder;
  readonly applications: readonly Application[];
  readonly work: readonly WorkLine[];
  readonly saved: readonly SavedWork[];
  readonly secrets: ReadonlyMap<string, string>;
  readonly feeds: readonly Feed[];
};

/** What was searched so far. */
export type Looked = {
  readonly tasks: Set<string>;
  readonly approvals: Set<string>;
  readonly effects: Set<string>;
  bytes: number;
  readonly found: Set<string>;
};

export const lookedAtNothing = (): Looked => ({
  tasks: new Set(),
  approvals: new Set(),
  effects: new Set(),
  bytes: 0,
  found: new Set(),
});

export const idsIn = ({ events }: StoredAggregate, name: string): readonly string[] =>
  events.flatMap(({ data }) => (typeof data[name] === 'string' ? [data[name]] : []));

/** Effects of kind `work`. */
const workIdsIn = ({ events }: StoredAggregate): ReadonlySet<unknown> =>
  new Set(
    events.flatMap(({ type, data }) =>
      type === 'step_ordered' && (data['effect'] as { readonly kind?: string } | undefined)?.kind === 'work'
        ? [data['effectId']]
        : [],
    ),
  );

export const chunks = function* <Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let i = 0; i < items.length; i += AT_ONCE) yield items.slice(i, i + AT_ONCE);
};

export const grouped = <Item>(
  items: Iterable<Item>,
  keyOf: (item: Item) => string,
): ReadonlyMap<string, readonly Item[]> => Map.groupBy(items, keyOf);

/** A task and its plan. */
export type Wanted = { readonly id: string; readonly meant: Meant };

export const wantedOf = (target: Target, task: PlannedTask): Wanted => ({
  id: task.id,
  meant: {
    fate: task.fate,
    submission: target.submission(task),
    effect: effectOf(target, task),
    requestDigest: target.expectedDigest(task),
    ...(task.graph && { graph: task.graph }),
    ...(task.agent === true && { agent: AGENT }),
  },
});

/** The task of a program's effect, which the program submits. */
export const wantedForProgram = (target: Target, task: PlannedTask): Wanted => ({
  id: childOf(task.id),
  meant: {
    fate: task.fate,
    submission: childSubmissionOf(task.id),
    effect: childEffectOf(task.id),
    requestDigest: target.expectedDigest(task),
  },
});

export const searchAggregates = (
  aggregates: ReadonlyMap<string, StoredAggregate>,
  secrets: ReadonlyMap<string, string>,
  looked: Looked,
): void => {
  for (const { events } of aggregates.values()) {
    const text = JSON.stringify(events);
    looked.bytes += text.length;
    for (const secret of foundIn(text, secrets)) looked.found.add(secret);
  }
};

/** The evidence of each task. Adds to `looked`. */
export async function* gatherTasks(
  options: TasksOptions,
  wanted: readonly Wanted[],
  looked: Looked,
): AsyncGenerator<TaskEvidence> {
  const { deployment, recorder, secrets } = options;
  const operations = grouped(options.operations, ({ key }) => key);
  const facts: ReadonlyMap<string, readonly SeenFact[]> = grouped(recorder.facts(), ({ id }) => id);
  const applications = grouped(options.applications, ({ key }) => key);
  const lines = grouped(options.work, ({ task }) => task);
  const feeds = grouped(options.feeds, ({ task }) => task);
  const saved = grouped(options.saved, ({ name }) => name.split('/')[0] ?? '');

  for (const chunk of chunks(wanted)) {
    const tasks = await loadAggregates(
      deployment,
      'orchestrator',
      chunk.map(({ id }) => id),
    );
    const idsOf = (name: string) => [...new Set([...tasks.values()].flatMap((task) => idsIn(task, name)))];
    const approvals = await loadAggregates(deployment, 'approvals', idsOf('approval'));
    const effects = await loadAggregates(deployment, 'executor', idsOf('effectId'));
    const recoveries = await loadAggregates(deployment, 'recovery', [...tasks.keys()]);
    for (const aggregates of [tasks, approvals, effects, recoveries])
      searchAggregates(aggregates, secrets, looked);
    for (const id of tasks.keys()) looked.tasks.add(id);
    for (const id of approvals.keys()) looked.approvals.add(id);
    for (const id of effects.keys()) looked.effects.add(id);

    for (const one of chunk) {
      const task = tasks.get(one.id);
      const own = (name: string, among: ReadonlyMap<string, StoredAggregate>): readonly StoredAggregate[] =>
        task === undefined ? [] : [...new Set(idsIn(task, name))].flatMap((id) => among.get(id) ?? []);
      const ownApprovals = own('approval', approvals);
      const ordered = own('effectId', effects);
      const workIds: ReadonlySet<unknown> = task === undefined ? new Set() : workIdsIn(task);
      const ownEffects = ordered.filter(({ id }) => !workIds.has(id));
      yield {
        id: one.id,
        meant: one.meant,
        operations: operations.get(one.id) ?? [],
        task,
        approvals: ownApprovals,
        effects: ownEffects,
        works: ordered.filter(({ id }) => workIds.has(id)),
        lines: lines.get(one.id) ?? [],
        saved: saved.get(one.id) ?? [],
        recovery: recoveries.get(one.id),
        applications: applications.get(one.meant.effect) ?? [],
        feeds: feeds.get(one.id) ?? [],
        facts: [one.id, ...[...ownApprovals, ...ordered].map(({ id }) => id)].flatMap(
          (id) => facts.get(id) ?? [],
        ),
      };
    }
  }
}
