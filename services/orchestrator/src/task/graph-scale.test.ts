import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { expect, test } from 'vitest';
import { control } from '../../testing/graphs.ts';
import { submit, NOW } from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';
import type { Nodes } from './model/nodes.ts';
import type { TaskState } from './model/state.ts';

const SIZES = [100, 1_000, 5_000] as const;
const name = (index: number): string => `n${String(index)}`;
const numbered = (size: number, make: (index: number) => NodeDefinition): readonly NodeDefinition[] =>
  Array.from({ length: size }, (_, index) => make(index));

const SHAPES: Readonly<Record<string, (size: number) => readonly NodeDefinition[]>> = {
  'a chain': (size) => numbered(size, (at) => control(name(at), { after: at === 0 ? [] : [name(at - 1)] })),
  'many side by side': (size) => numbered(size, (at) => control(name(at))),
  'many between the first and the last': (size) =>
    numbered(size, (at) => {
      if (at === 0) return control(name(at));
      if (at < size - 1) return control(name(at), { after: [name(0)] });
      return control(name(at), { after: Array.from({ length: size - 2 }, (_, index) => name(index + 1)) });
    }),
};

/** The number of list entries that one event copies. */
const copiedIn = (before: Nodes, after: Nodes): number =>
  after.reduce((sum, chunk, at) => {
    if (chunk === before[at]) return sum;
    return sum + chunk.filter((state, place) => state !== before[at]?.[place]).length;
  }, 0);

const measured = (nodes: readonly NodeDefinition[]) => {
  const definition = { id: 'large', version: '1', nodes: [...nodes] };
  const message = submit({ workflow: 'large', goal: 'much', requestedBy: 'linus', definition });
  const { events } = taskDecider.decide(taskDecider.initial, message, { now: NOW });
  let state: TaskState = taskDecider.initial;
  let states = 0;
  let chunks = 0;
  for (const event of events) {
    const before = state.phase === 'absent' ? [] : state.nodes;
    state = taskDecider.evolve(state, event);
    if (event.type === 'submitted' || state.phase === 'absent') continue;
    states += copiedIn(before, state.nodes);
    chunks += state.nodes.filter((chunk, at) => chunk !== before[at]).length;
  }
  return { phase: state.phase, perNode: events.length / nodes.length, states, chunks, events: events.length };
};

test.each(Object.entries(SHAPES))(
  '%s: the events and state copies per node do not depend on the number of nodes',
  (_, shape) => {
    for (const size of SIZES) {
      const { phase, events, states, chunks } = measured(shape(size));
      expect(phase).toBe('completed');
      // Submitted, ready and completed, and each node once.
      expect(events).toBe(size + 3);
      expect(states).toBe(size);
      expect(chunks).toBe(size);
    }
  },
);
