import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { definitionOf, type NodeText } from '../../testing/definition.ts';
import { DRAWING_FORMATS, drawGraph } from './draw-graph.ts';

const EFFECT: NonNullable<NodeText['effect']> = {
  kind: 'merge',
  effectClass: 'fenced',
  idempotencyKey: 'k',
  target: 't',
  pool: 'default',
  audience: ['operators'],
  approvalTimeoutMs: 60_000,
};

const MERGE = definitionOf(
  { id: 'conflict', uses: 'control.gate.conflict_resolution', on: { succeeded: ['merge'] } },
  {
    id: 'merge',
    name: 'Merge the "plan"',
    uses: 'cap.env.builtin.git.integrate_plan_branch',
    effect: EFFECT,
    guard: 'inputs.go',
    on: { succeeded: ['cicd'], blocked: ['conflict'] },
  },
  { id: 'cicd', uses: 'control.gate.cicd', on: { failed: ['cicd'] } },
  { id: 'end', uses: 'control.terminal', after: ['cicd'] },
);

test('mermaid: shapes by kind, labels by outcome, dashes for what leads back', () => {
  expect(drawGraph(MERGE, 'mermaid')).toBe(`flowchart TD
  n0{{"conflict<br/>conflict_resolution"}}:::gate
  n1[["merge<br/>Merge the #34;plan#34;<br/>git.integrate_plan_branch<br/>HOLD merge, guard"]]:::effect
  n2{{"cicd<br/>cicd"}}:::gate
  n3(["end<br/>terminal"])
  n0 -.-> n1
  n1 --> n2
  n1 -->|blocked| n0
  n2 --> n3
  n2 -.->|failed| n2
  classDef effect stroke-width:3px
  classDef gate stroke-dasharray:4
`);
});

test('dot: the same for Graphviz', () => {
  expect(drawGraph(MERGE, 'dot')).toBe(`digraph "template.test@v1" {
  rankdir=TB;
  node [fontname="sans-serif"];
  "conflict" [shape=diamond label="conflict\\nconflict_resolution"];
  "merge" [shape=box peripheries=2 penwidth=2 label="merge\\nMerge the \\"plan\\"\\ngit.integrate_plan_branch\\nHOLD merge, guard"];
  "cicd" [shape=diamond label="cicd\\ncicd"];
  "end" [shape=oval label="end\\nterminal"];
  "conflict" -> "merge" [style=dashed constraint=false];
  "merge" -> "cicd";
  "merge" -> "conflict" [label="blocked"];
  "cicd" -> "end";
  "cicd" -> "cicd" [style=dashed constraint=false label="failed"];
}
`);
});

test('ascii: every node stands below the nodes it waits for', () => {
  expect(drawGraph(MERGE, 'ascii')).toBe(`template.test@v1
* work   # effect, held for approval   ? gate   . end   ~> loop

# merge "Merge the "plan"" (git.integrate_plan_branch) [HOLD merge, guard]
    -> cicd
    blocked -> conflict
  ? conflict (conflict_resolution)
      ~> merge (back)
  ? cicd (cicd)
      -> end
      failed ~> cicd (back)
    . end (terminal)
`);
});

describe('any node name', () => {
  const hostile = `"]; --> x\n<script>alert(1)</script>\\" %%{init}%% \`#quot; \u001b[2J \u202e`;
  const named = definitionOf(
    { id: 'end', name: hostile },
    { id: 'subgraph', name: '\n\t' },
    { id: '-', after: ['end'] },
  );

  test('mermaid sees no character of it that means anything, and no id as a word of its own', () => {
    const drawn = drawGraph(named, 'mermaid');
    expect(drawn.split('\n')[1]).toMatch(
      /^ {2}n0\["end<br\/>(?:[\p{L}\p{N} .,:_-]|#\d+;)+<br\/>shell.command.run"\]$/u,
    );
    expect(drawn).toContain('n0 --> n2');
    expect(drawn).toContain('n1["subgraph<br/>shell.command.run"]');
  });

  test('dot sees one text in quotes', () => {
    const [, , , line = ''] = drawGraph(named, 'dot').split('\n');
    expect(line).toMatch(/^ {2}"end" \[shape=box label="(?:[^"\\]|\\["\\n])*"\];$/);
    expect(line).toContain(String.raw`\"]; --> x <script>alert(1)</script>\\\" `);
  });

  test('a terminal sees one line, without control characters', () => {
    const lines = drawGraph(named, 'ascii').split('\n');
    expect(lines).toHaveLength(8);
    expect(lines[3]).toMatch(/^\* end "\P{C}+" \(shell\.command\.run\)$/u);
  });

  test('no name adds a line to any drawing', () => {
    const lines = (name: string | undefined, format: (typeof DRAWING_FORMATS)[number]): number =>
      drawGraph(
        definitionOf({ id: 'a', ...(name !== undefined && { name }) }, { id: 'b', after: ['a'] }),
        format,
      ).split('\n').length;
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 100 }),
        fc.constantFrom(...DRAWING_FORMATS),
        (name, format) => {
          expect(lines(name, format)).toBe(lines(undefined, format));
        },
      ),
    );
  });
});

test('a hundred nodes in a row stay within the width of a terminal', () => {
  const nodes = Array.from({ length: 100 }, (_, at) => ({
    id: `node-${String(at)}`,
    after: at === 0 ? [] : [`node-${String(at - 1)}`],
  }));
  const lines = drawGraph(definitionOf(...nodes), 'ascii').split('\n');
  expect(lines).toHaveLength(3 + 100 + 99 + 1);
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(80);
});
