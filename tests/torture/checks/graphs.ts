import { TaskEvent } from '@holdpoint/contracts/task/events';
import { evolve } from '@holdpoint/orchestrator/task/evolve/evolve';
import { absent, nodeState, type TaskState } from '@holdpoint/orchestrator/task/model/state';
import type { StoredAggregate, TaskEvidence } from '../evidence/evidence.ts';
import { asksFor, endOf, type GraphPlan, runsOf, standingsOf } from '../workload/graph.ts';
import { TROUBLED } from '../workload/agent-failures.ts';
import type { WorkLine } from '../workload/script-log.ts';
import { type Check, takeNotes } from './check.ts';

/** Check K1 reports events that cannot be parsed. */
const folded = ({ events }: StoredAggregate): TaskState =>
  events
    .flatMap(({ data }) => TaskEvent.safeParse(data).data ?? [])
    .reduce<TaskState>((state, event) => evolve(state, event), absent);

const phaseOf = ({ events }: StoredAggregate): unknown => events.at(-1)?.data['phase'];

const standingsIn = (task: StoredAggregate): Readonly<Record<string, string>> => {
  const state = folded(task);
  if (state.phase === 'absent') return {};
  return Object.fromEntries(state.definition.nodes.map(({ id }) => [id, nodeState(state, id).status]));
};

type Graphed = Pick<TaskEvidence, 'task' | 'applications'> & { readonly graph: GraphPlan | undefined };

/** A person decided about one of its nodes. */
export const wasLeftToPeople = (task: StoredAggregate | undefined): boolean =>
  task?.events.some(({ type, data }) => type === 'node_escalated' && data['verdict'] !== undefined) === true;

/** Its effect is applied and it ended without a person, so that the whole graph ran. */
const isThrough = ({ graph, task, applications }: Graphed): boolean =>
  graph !== undefined && task !== undefined && applications.length > 0 && phaseOf(task) === endOf(graph);

export const graphs: Check = {
  id: 'K18',
  promise: 'a task and its nodes end as its graph defines',
  graphs: true,
  ofTask: ({ id, meant: { graph, fate }, task, applications }) => {
    const { expect, finding } = takeNotes(id);
    if (graph === undefined || task === undefined) return finding();
    const phase = phaseOf(task);
    if (!asksFor(graph)) {
      expect(phase !== 'completed', () => 'its gate never passes, and it is completed');
      expect(applications.length === 0, () => 'its gate never passes, and its effect was applied');
    } else if (fate === 'approve' || fate === 'late')
      expect(
        phase === endOf(graph) || phase === 'paused' || (phase === 'failed' && wasLeftToPeople(task)),
        () => `its effect was approved and it would be ${endOf(graph)} then, and it is ${String(phase)}`,
      );
    if (phase === 'completed')
      expect(endOf(graph) === phase, () => 'one of its nodes fails, and it is completed');
    if (!isThrough({ graph, task, applications })) return finding();
    const standings = standingsIn(task);
    const own: ReadonlySet<string> = new Set(wasLeftToPeople(task) ? TROUBLED : []);
    for (const [node, wanted] of Object.entries(standingsOf(graph)).filter(([each]) => !own.has(each)))
      expect(
        standings[node] === wanted,
        () => `it is ${String(phase)}, and ${node} is ${String(standings[node])}, not ${wanted}`,
      );
    return finding();
  },
};

export const works: Check = {
  id: 'K19',
  promise: 'completed work ran at least as often as its graph requires, and unreached work did not run',
  graphs: true,
  ofTask: ({ id, meant: { graph }, task, lines, applications }) => {
    const { expect, finding } = takeNotes(id);
    if (graph === undefined || !isThrough({ graph, task, applications })) return finding();
    for (const [node, wanted] of Object.entries(runsOf(graph))) {
      const runs = lines.filter(({ what, about }) => what === 'ran' && about === node).length;
      expect(
        wanted === 0 ? runs === 0 : runs >= wanted,
        () =>
          `${node} was carried out ${String(runs)} times, expected ${wanted === 0 ? '0' : `at least ${String(wanted)}`}`,
      );
    }
    return finding();
  },
};

/**
 * Between the start and the end of a run no other task may write. A killed run has no end and proves nothing.
 */
const intrudersIn = (lines: readonly WorkLine[], from: number): readonly WorkLine[] | undefined => {
  const began = lines[from];
  const to = lines.findIndex(({ what, token }, i) => i > from && what === 'end' && token === began?.token);
  return to < 0 ? undefined : lines.slice(from + 1, to).filter(({ task }) => task !== began?.task);
};

export const locks: Check = {
  id: 'K20',
  promise: 'an exclusive lock is never held by two running jobs',
  graphs: true,
  ofRun: ({ work }) => {
    const { expect, finding } = takeNotes();
    const held = Map.groupBy(
      work.filter(({ what }) => what !== 'ran'),
      ({ about }) => about,
    );
    for (const [lock, lines] of held)
      lines.forEach(({ what, task }, i) => {
        const intruders = what === 'begin' ? intrudersIn(lines, i) : undefined;
        if (intruders !== undefined)
          expect(
            intruders.length === 0,
            () =>
              `while ${task} held ${lock}, so did ${[...new Set(intruders.map((each) => each.task))].join(', ')}`,
          );
      });
    return finding();
  },
};
