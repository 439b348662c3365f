import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { definitionOf, idOf, work, type NodeText } from '../../testing/definition.ts';
import { downstreamOf, graphOf, type Graph } from './graph.ts';

const graph = (...nodes: readonly NodeText[]): Graph => graphOf(definitionOf(...nodes));
const shown = (of: Graph, loop: boolean): string[] =>
  [...of.nodes.keys()]
    .flatMap((id) => of.outgoing(id))
    .filter((edge) => edge.loop === loop)
    .map(({ from, on, to, kind }) => `${from} ${kind === 'after' ? 'after' : on} ${to}`);

const MERGE: readonly NodeText[] = [
  {
    id: 'merge_conflict_resolution',
    uses: 'control.gate.conflict_resolution',
    on: { succeeded: ['merge_integrate'] },
  },
  {
    id: 'merge_integrate',
    uses: 'cap.env.builtin.git.integrate_plan_branch',
    on: { succeeded: ['merge_gate_cicd'], blocked: ['merge_conflict_resolution'] },
  },
  {
    id: 'merge_gate_cicd',
    uses: 'control.gate.cicd',
    on: { succeeded: ['terminal'], failed: ['merge_gate_cicd'] },
  },
  { id: 'terminal', uses: 'control.terminal' },
];

describe('edges', () => {
  test('after is a success edge, a route is an outcome edge, and duplicates count once', () => {
    const made = graph(
      { id: 'a', on: { succeeded: ['b', 'b'], failed: ['c'], cancelled: ['c'] } },
      { id: 'b', after: ['a', 'a'] },
      { id: 'c' },
    );
    expect(shown(made, false)).toEqual(['a after b', 'a failed c', 'a cancelled c']);
    expect(made.incoming(idOf('c')).map(({ on }) => on)).toEqual(['failed', 'cancelled']);
  });

  test('an unknown name makes no edge', () => {
    const made = graph({ id: 'a', after: ['nobody'], on: { succeeded: ['nowhere'] } });
    expect(made.outgoing(idOf('a'))).toEqual([]);
    expect(made.outgoing(idOf('nobody'))).toEqual([]);
    expect(made.entries).toEqual(['a']);
  });

  test('among nodes with equal ids the first counts', () => {
    const made = graph({ id: 'a', uses: 'control.prepare' }, { id: 'a' }, { id: 'b' });
    expect(made.nodes.get(idOf('a'))?.uses).toBe('control.prepare');
    expect(made.position.get(idOf('b'))).toBe(1);
  });

  test('the graph of a definition is cached', () => {
    const definition = definitionOf({ id: 'a' });
    expect(graphOf(definition)).toBe(graphOf(definition));
  });
});

describe('loops', () => {
  test('a merge starts with the integration, independent of the order of nodes', () => {
    for (const nodes of [MERGE, MERGE.toReversed()]) {
      const made = graph(...nodes);
      expect(made.entries).toEqual(['merge_integrate']);
      expect(shown(made, true).sort()).toEqual([
        'merge_conflict_resolution succeeded merge_integrate',
        'merge_gate_cicd failed merge_gate_cicd',
      ]);
    }
  });

  test('a stop gate goes back to the agent', () => {
    const made = graph(
      {
        id: 'gate',
        uses: 'control.gate.stop_condition',
        on: { succeeded: ['end'], failed: ['agent', 'commit'] },
      },
      { id: 'commit', on: { succeeded: ['gate'] } },
      { id: 'agent', on: { succeeded: ['commit'] } },
      { id: 'end', uses: 'control.terminal' },
    );
    expect(made.entries).toEqual(['agent']);
    expect(shown(made, true)).toEqual(['gate failed agent', 'gate failed commit']);
  });

  test('a cycle starts where outside nodes lead into it', () => {
    const made = graph(
      { id: 'start', on: { succeeded: ['gate', 'agent'] } },
      { id: 'gate', after: ['agent'], on: { failed: ['agent'] } },
      { id: 'agent' },
    );
    expect(shown(made, true)).toEqual(['gate failed agent']);
    expect(made.incoming(idOf('gate')).map(({ from }) => from)).toEqual(['agent', 'start']);
  });

  test('a cycle without entrances starts at a node that waits for none of the others', () => {
    const made = graph(
      { id: 'work', after: ['gate'], on: { failed: ['gate'] } },
      { id: 'gate', uses: 'control.gate.approval' },
    );
    expect(made.entries).toEqual(['gate']);
  });

  test('a node that leads to itself is still an entry', () => {
    const made = graph({ id: 'b', after: ['a'] }, { id: 'a', on: { failed: ['a'] } });
    expect(made.entries).toEqual(['a']);
    expect(shown(made, true)).toEqual(['a failed a']);
  });
});

describe('downstream', () => {
  test('downstream nodes come in definition order without loops', () => {
    const made = graph(
      { id: 'end' },
      { id: 'fix', on: { succeeded: ['end'] } },
      { id: 'b', after: ['a'], on: { succeeded: ['end'], failed: ['a'], blocked: ['fix'] } },
      { id: 'a' },
    );
    expect(downstreamOf(made, idOf('b'))).toEqual(['end', 'fix', 'b']);
    expect(downstreamOf(made, idOf('nobody'))).toEqual([]);
  });
});

const ids = fc
  .array(fc.nat(11), { maxLength: 3 })
  .map((numbers) => numbers.map((number) => `n${String(number)}`));
const anyNodes = fc.array(
  fc.record({
    after: ids,
    on: fc.record({ succeeded: ids, failed: ids, blocked: ids }),
    uses: fc.constantFrom('cap.agent.invoke', 'control.gate.cicd'),
  }),
  { minLength: 1, maxLength: 12 },
);
const numbered = (nodes: readonly Omit<NodeText, 'id'>[]): NodeDefinition[] =>
  definitionOf(...nodes.map((node, at) => ({ ...node, id: `n${String(at)}` }))).nodes;

/** The nodes left after nodes without predecessors are removed repeatedly. */
const standing = (made: Graph): readonly string[] => {
  const left = new Set(made.nodes.keys());
  for (let before = -1; before !== left.size;) {
    before = left.size;
    for (const id of left) if (made.incoming(id).every(({ from }) => !left.has(from))) left.delete(id);
  }
  return [...left];
};

describe('laws', () => {
  test('without loop edges the graph is acyclic and reachable from its entries', () => {
    fc.assert(
      fc.property(anyNodes, (nodes) => {
        const made = graphOf({ nodes: numbered(nodes) });
        expect(standing(made)).toEqual([]);
        const reached = new Set(made.entries.flatMap((id) => downstreamOf(made, id)));
        expect(reached.size).toBe(made.nodes.size);
      }),
      { numRuns: 500 },
    );
  });

  test('a loop edge lies on a cycle', () => {
    fc.assert(
      fc.property(anyNodes, (nodes) => {
        const made = graphOf({ nodes: numbered(nodes) });
        const loops = [...made.nodes.keys()].flatMap((id) => made.outgoing(id)).filter(({ loop }) => loop);
        for (const { from, to } of loops) expect(downstreamOf(made, to)).toContain(from);
      }),
      { numRuns: 500 },
    );
  });

  test('a chain of 20,000 nodes with a loop does not overflow the stack', () => {
    const last = 19_999;
    const nodes = Array.from({ length: last + 1 }, (_, at) =>
      work(
        `n${String(at)}`,
        at === last ? { on: { failed: ['n0'] } } : { on: { succeeded: [`n${String(at + 1)}`] } },
      ),
    );
    const made = graphOf({ nodes });
    expect(made.entries).toEqual(['n0']);
    expect(downstreamOf(made, idOf('n0'))).toHaveLength(last + 1);
  });
});
