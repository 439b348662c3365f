import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { useMemo } from 'preact/hooks';
import { Graph, NODES_MAX } from '../graph/graph.tsx';
import type { Edge } from '../graph/layout.ts';
import { definitionIn, type TaskSnapshot } from './replay.ts';
import { JOBS, wordFor } from '../tasks/labels.ts';

type Bag = Readonly<Record<string, unknown>>;
const wordsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];

/** Edges of the graph: order and routes. */
const edgesOf = (task: TaskView, events: readonly HistoryEntry[]): readonly Edge[] => {
  const routes = definitionIn(events).flatMap(({ id, on }) =>
    Object.entries((on ?? {}) as Bag).flatMap(([route, targets]) =>
      wordsIn(targets).map((to) => ({ from: String(id), to, ...(route !== 'succeeded' && { route }) })),
    ),
  );
  const order = task.nodes.flatMap(({ id, after }) => after.map((from): Edge => ({ from, to: id })));
  const known = new Set<string>();
  return [...order, ...routes].filter(({ from, to, route = '' }) => {
    const name = JSON.stringify([from, to, route]);
    return !known.has(name) && Boolean(known.add(name));
  });
};

/** The workflow, now or at an earlier version. */
export const TaskGraph = ({
  task,
  events,
  then,
  selected,
  onSelect,
}: {
  readonly task: TaskView;
  readonly events: readonly HistoryEntry[];
  readonly then: TaskSnapshot | undefined;
  readonly selected: string | undefined;
  readonly onSelect: (id: string) => void;
}) => {
  const hasDefinition = events.some(({ type }) => type === 'submitted');
  const edges = useMemo(() => edgesOf(task, events), [task.id, hasDefinition]);
  if (task.nodes.length > NODES_MAX)
    return <p class="hint">{task.nodes.length} steps are too many for a graph; they are listed below.</p>;
  return (
    <Graph
      edges={edges}
      selected={selected}
      onSelect={onSelect}
      nodes={task.nodes.map(({ id, name, job, attempt }) => {
        const old = then?.nodes.get(id);
        return {
          id,
          label: name ?? id,
          word: wordFor(JOBS, then === undefined ? job : (old?.job ?? 'queued')),
          attempt: then === undefined ? attempt : (old?.attempt ?? 1),
        };
      })}
    />
  );
};
