import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { EffectDeclaration, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { definitionOf, type NodeText } from '../../testing/definition.ts';
import { definitionProblems } from './definition-problems.ts';
import { problemText, type Problem } from '../problems/problem.ts';

const problems = (...nodes: readonly NodeText[]): Problem[] => definitionProblems(definitionOf(...nodes));
const brief = (...nodes: readonly NodeText[]): string[] =>
  problems(...nodes).map(({ code, path, severity }) => `${severity} ${code} ${path}`);

const EFFECT: EffectDeclaration = {
  kind: 'deploy',
  effectClass: 'opaque',
  idempotencyKey: 'k',
  target: 't',
  pool: 'default',
  audience: ['operators'],
  approvalTimeoutMs: 60_000,
};
const MERGE = 'cap.env.builtin.git.integrate_plan_branch';

test('a merge with a conflict loop, a repeating gate and an effect is valid', () => {
  expect(
    problems(
      { id: 'conflict', uses: 'control.gate.conflict_resolution', on: { succeeded: ['merge'] } },
      {
        id: 'merge',
        uses: MERGE,
        effect: { ...EFFECT, kind: 'merge', effectClass: 'fenced', target: '{{ inputs.target }}' },
        on: { succeeded: ['cicd'], blocked: ['conflict'] },
      },
      { id: 'cicd', uses: 'control.gate.cicd', on: { succeeded: ['end'], failed: ['cicd'] } },
      { id: 'end', uses: 'control.terminal' },
    ),
  ).toEqual([]);
});

describe('names', () => {
  test('a duplicate node id is reported', () => {
    expect(problems({ id: 'a' }, { id: 'b' }, { id: 'a' })).toEqual([
      {
        code: 'WORKFLOW_NODE_TWICE',
        severity: 'error',
        path: 'nodes[a].id',
        found: 'a at positions 1 and 3',
        expected: 'a unique id',
      },
    ]);
  });

  test('an unknown node name is reported with the nearest one', () => {
    const found = problems({ id: 'build', after: ['test', 'biuld'], on: { failed: ['bulid'] } });
    expect(found.map(({ code, path, nearest }) => [code, path, nearest])).toEqual([
      ['WORKFLOW_NODE_UNKNOWN', 'nodes[build].after[0]', undefined],
      ['WORKFLOW_NODE_UNKNOWN', 'nodes[build].after[1]', 'build'],
      ['WORKFLOW_NODE_UNKNOWN', 'nodes[build].on.failed[0]', 'build'],
    ]);
  });

  test('unknown and unsupported labels are reported', () => {
    const found = problems(
      { id: 'a', uses: 'cap.agent.invoce' },
      { id: 'b', uses: 'cap.env.builtin.patch.execute_pipeline' },
      { id: 'c', uses: 'control.gate.nothing', before: [{ uses: 'cap.env.shell.comand.run', args: {} }] },
    );
    expect(found.map(({ code, path, nearest }) => [code, path, nearest])).toEqual([
      ['WORKFLOW_USES_UNKNOWN', 'nodes[a].uses', 'cap.agent.invoke'],
      ['WORKFLOW_USES_NOT_YET', 'nodes[b].uses', undefined],
      ['WORKFLOW_USES_UNKNOWN', 'nodes[c].uses', 'control.gate.cicd'],
      ['WORKFLOW_USES_UNKNOWN', 'nodes[c].before[0].uses', 'cap.env.shell.command.run'],
    ]);
  });
});

describe('effects', () => {
  test.each<[string, NodeText, string[]]>([
    ['an undeclared merge', { id: 'a', uses: MERGE }, ['error WORKFLOW_EFFECT_MISSING nodes[a].effect']],
    [
      'an undeclared append',
      { id: 'a', uses: 'cap.file.append' },
      ['error WORKFLOW_EFFECT_MISSING nodes[a].effect'],
    ],
    [
      'an undeclared request',
      { id: 'a', uses: 'cap.http.request' },
      ['error WORKFLOW_EFFECT_MISSING nodes[a].effect'],
    ],
    [
      'a merge declared a deployment',
      { id: 'a', uses: MERGE, effect: EFFECT },
      ['error WORKFLOW_EFFECT_KIND nodes[a].effect.kind'],
    ],
    [
      'a class that is not that of the capability',
      { id: 'a', uses: 'cap.file.append', args: { file: 'a', line: 'b' }, effect: EFFECT },
      ['error WORKFLOW_EFFECT_CLASS nodes[a].effect.effectClass'],
    ],
    [
      'a script that is called idempotent',
      { id: 'a', effect: { ...EFFECT, effectClass: 'idempotent' } },
      ['error WORKFLOW_EFFECT_CLASS nodes[a].effect.effectClass'],
    ],
    ['a script that is declared an effect', { id: 'a', effect: EFFECT }, []],
    [
      'a control',
      { id: 'a', uses: 'control.gate.cicd', effect: EFFECT },
      ['error WORKFLOW_EFFECT_ON_CONTROL nodes[a].effect'],
    ],
    [
      'one effect for many items',
      { id: 'a', effect: EFFECT, forEach: 'inputs.x' },
      ['error WORKFLOW_EFFECT_FOR_EACH nodes[a].forEach'],
    ],
    [
      'an effect that is repeated',
      { id: 'a', effect: EFFECT, until: 'outputs.done' },
      ['error WORKFLOW_EFFECT_UNTIL nodes[a].until'],
    ],
    [
      'a control for many items',
      { id: 'a', uses: 'control.prepare', forEach: 'inputs.x' },
      ['error WORKFLOW_CONTROL_REPEATED nodes[a].forEach'],
    ],
    [
      'a control that is repeated',
      { id: 'a', uses: 'control.gate.approval', until: 'outputs.done' },
      ['error WORKFLOW_CONTROL_REPEATED nodes[a].until'],
    ],
    [
      'a step that does more than work',
      {
        id: 'a',
        finally: [
          { uses: MERGE, args: {} },
          { uses: 'control.gate.cicd', args: {} },
        ],
      },
      [
        'error WORKFLOW_STEP_NOT_WORK nodes[a].finally[0].uses',
        'error WORKFLOW_STEP_NOT_WORK nodes[a].finally[1].uses',
      ],
    ],
  ])('a problem is reported for %s', (_what, node, expected) => {
    expect(brief(node)).toEqual(expected);
  });
});

describe('arguments of effects', () => {
  const appending = (args: JsonObject, more: Partial<NodeText> = {}): NodeText => ({
    id: 'a',
    uses: 'cap.file.append',
    args,
    effect: { ...EFFECT, kind: 'write_external', effectClass: 'keyed' },
    ...more,
  });

  test.each<[string, NodeText, string[]]>([
    [
      'a path that leads out of the workspace',
      appending({ file: '../../etc/passwd', line: 'x' }),
      [
        'nodes[a].args.file: "../../etc/passwd", not a relative path inside HOLDPOINT_WORKSPACE of the executor',
      ],
    ],
    [
      'an absolute path',
      appending({ file: '/etc/passwd', line: 'x' }),
      ['nodes[a].args.file: "/etc/passwd", not a relative path inside HOLDPOINT_WORKSPACE of the executor'],
    ],
    ['a missing argument', appending({ file: 'a.txt' }), ['nodes[a].args.line: nothing, not a value']],
    [
      'a value of another type',
      appending({ file: 'a.txt', line: 7 }),
      ['nodes[a].args.line: another value, not string'],
    ],
    [
      'a credential in the clear, which no problem shows',
      appending(
        { url: 'https://api.example/', headers: { authorization: 'Bearer hunter2' } },
        { uses: 'cap.http.keyed_request' },
      ),
      ['nodes[a].args.headers: another value, not credentials as ${secret:NAME}, not in the clear'],
    ],
    [
      'a script that nothing undoes',
      appending(
        { effect: 'e-1', args: { with: { command: 'true' } }, outputs: {} },
        {
          uses: 'cap.env.shell.command.run.compensate',
          effect: { ...EFFECT, kind: 'destructive_edit', effectClass: 'opaque' },
        },
      ),
      [
        'nodes[a].args.args.with.compensate: nothing, not a script that undoes the effect, declared before it ran: undo it by hand',
      ],
    ],
  ])('an effect is refused before people are asked: %s', (_, node, expected) => {
    const found = problems(node).filter(({ code }) => code === 'WORKFLOW_ARGS_INVALID');
    expect(
      found.map(({ path, found: what, expected: instead }) => `${path}: ${what}, not ${instead}`),
    ).toEqual(expected);
    expect(JSON.stringify(found)).not.toContain('hunter2');
  });

  test.each<[string, NodeText]>([
    ['a path inside the workspace', appending({ file: 'a/../b.txt', line: 'x' })],
    ['a value that is known only at the start', appending({ file: '{{ inputs.file }}', line: 'x' })],
    ['arguments of a custom capability', appending({ file: '../../x' }, { uses: 'cap.custom.write' })],
  ])('an effect is accepted: %s', (_, node) => {
    expect(problems(node).filter(({ code }) => code === 'WORKFLOW_ARGS_INVALID')).toEqual([]);
  });

  test('braces are no expression where texts are final', () => {
    const node = appending({ file: '../{{ x }}', line: 'x' }, { verbatim: true });
    expect(problems(node).map(({ code, path }) => `${code} ${path}`)).toEqual([
      'WORKFLOW_ARGS_INVALID nodes[a].args.file',
    ]);
  });
});

test('an agent needs a command, and a terminal allows no routes', () => {
  expect(
    brief(
      { id: 'a', uses: 'cap.agent.invoke', after: ['t'] },
      { id: 't', uses: 'control.terminal', on: { succeeded: [] } },
    ),
  ).toEqual(['error WORKFLOW_AGENT_MISSING nodes[a].agent']);
  expect(
    brief(
      { id: 'a', uses: 'cap.agent.invoke', agent: ['cat'] },
      { id: 't', uses: 'control.terminal', on: { failed: ['a'] } },
    ),
  ).toContain('error WORKFLOW_TERMINAL_ROUTES nodes[t].on');
});

describe('cycles', () => {
  test('a cycle of success alone is reported as a chain', () => {
    const found = problems(
      { id: 'a', on: { succeeded: ['b'] } },
      { id: 'b', on: { succeeded: ['c', 'd'] } },
      { id: 'c', after: ['b'] },
      { id: 'x', after: ['x'] },
      { id: 'd', on: { succeeded: ['a'] } },
    );
    expect(found.map(({ code, path, found: what }) => [code, path, what])).toEqual([
      ['WORKFLOW_CYCLE', 'nodes[a]', 'a cycle without a bound: a -> b -> d -> a'],
      ['WORKFLOW_CYCLE', 'nodes[x]', 'a cycle without a bound: x -> x'],
    ]);
  });

  test('a long cycle is abbreviated', () => {
    const nodes = Array.from({ length: 1_000 }, (_, at) => ({
      id: `n${String(at)}`,
      after: [`n${String((at + 999) % 1_000)}`],
    }));
    const [found] = problems(...nodes);
    expect(found?.found).toMatch(/n0 -> n1 -> .* -> … \(982 more\) -> n0$/);
  });

  test('a cycle with a failure is a loop', () => {
    expect(problems({ id: 'a', on: { succeeded: ['b'] } }, { id: 'b', on: { failed: ['a'] } })).toEqual([]);
    expect(problems({ id: 'a', on: { blocked: ['b'] } }, { id: 'b', on: { succeeded: ['a'] } })).toEqual([]);
  });
});

describe('nodes that can never run', () => {
  test('a node that waits for its own successor is reported', () => {
    expect(
      brief({ id: 'start' }, { id: 'a', after: ['start', 'b'], on: { failed: ['b'] } }, { id: 'b' }),
    ).toEqual(['error WORKFLOW_NEVER_RUNS nodes[a].after']);
  });

  test('a node after an impossible outcome is reported', () => {
    expect(
      brief(
        { id: 'a', uses: 'control.prepare', on: { failed: ['b'] } },
        { id: 'b', on: { succeeded: ['c'] } },
        { id: 'c' },
      ),
    ).toEqual(['error WORKFLOW_NEVER_RUNS nodes[b]', 'error WORKFLOW_NEVER_RUNS nodes[c]']);
  });
});

test('a needed artifact without a producer is a warning', () => {
  const prompt = { type: 'custom', typeId: 'prompt_text', key: 'p' } as const;
  const output = { type: 'custom', typeId: 'operation_output', key: 'a' } as const;
  expect(brief({ id: 'a', produces: { failed: [prompt] } }, { id: 'b', needs: [prompt, output] })).toEqual(
    [],
  );
  expect(brief({ id: 'b', needs: [prompt, output, { type: 'plan_doc', slug: 's', branch: '' }] })).toEqual(
    [0, 1, 2].map((at) => `warning WORKFLOW_NEEDS_UNPRODUCED nodes[b].needs[${String(at)}]`),
  );
});

test('a workflow that waits for missing producers gets no warning about them', () => {
  const needs = [{ type: 'plan_doc', slug: 's', branch: '' } as const];
  const policy = { failureMode: 'block_downstream', missingProducer: 'wait' } as const;
  expect(definitionProblems({ ...definitionOf({ id: 'b', needs }), policy })).toEqual([]);
});

describe('expressions', () => {
  test('every expression is checked in its place', () => {
    expect(
      brief({
        id: 'a',
        guard: 'input.x',
        until: 'range(3)',
        forEach: 'inputs.services',
        args: { command: '{{ x', nested: { list: ['fine', '{{ a b }}'] }, other: '{{ inputs.y }}{{ item }}' },
        effect: {
          ...EFFECT,
          effectClass: 'probeable',
          idempotencyKey: '{{ }}',
          target: '{% if x %}{{ x }}',
          probe: '{{ a | nope }}',
          compensate: '{{ a.b',
        },
        before: [{ uses: 'cap.env.shell.command.run', args: { command: '{{ "' } }],
      }).map((line) => line.replace('error WORKFLOW_EXPRESSION nodes[a].', '')),
    ).toEqual([
      'error WORKFLOW_EFFECT_FOR_EACH nodes[a].forEach',
      'error WORKFLOW_EFFECT_UNTIL nodes[a].until',
      'guard',
      'until',
      'effect.idempotencyKey',
      'effect.target',
      'effect.probe',
      'effect.compensate',
      'args.command',
      'args.nested.list[1]',
      'before[0].args.command',
    ]);
  });

  test('an expression problem is one line', () => {
    const [found] = problems({ id: 'a', guard: 'inputs.x is defind' });
    expect(found === undefined ? '' : problemText(found)).toBe(
      'nodes[a].guard: error WORKFLOW_EXPRESSION: found "inputs.x is defind": there is no test "defind": did you mean "defined"?; expected an expression',
    );
  });

  test('prompts and plain scripts are not checked for expressions', () => {
    expect(
      problems(
        {
          id: 'a',
          uses: 'cap.env.builtin.prompt.resolve',
          args: { prompt_text: '{{file:README.md}} {{wt-1.slug}}' },
        },
        { id: 'b', uses: 'control.gate.conflict_resolution', args: { prompt_text: '{{file:x}}' } },
        { id: 'c', args: { command: 'echo ${#x} {% {{.Names}}' } },
        { id: 'd', args: { command: 'echo ${#x} {%' }, forEach: 'inputs.x' },
        {
          id: 'e',
          uses: 'cap.env.shell.prompt.resolve',
          args: { script: 'echo {{file:x}}' },
          forEach: 'inputs.x',
        },
      ),
    ).toEqual([]);
  });
});

describe('large definitions', () => {
  const many = (node: (at: number) => Omit<NodeText, 'id'>): NodeText[] =>
    Array.from({ length: 10_000 }, (_, at) => ({ id: `node-${String(at)}`, ...node(at) }));

  test('a chain of 10,000 nodes is valid', () => {
    expect(problems(...many((at) => (at === 0 ? {} : { after: [`node-${String(at - 1)}`] })))).toEqual([]);
  });

  test('of ten thousand problems five hundred are reported, errors first, with a count of the rest', () => {
    const found = problems(
      ...many((at) => ({ after: [`nude-${String(at)}`], needs: [{ type: 'target_branch', name: 'main' }] })),
    );
    expect(found).toHaveLength(501);
    expect(found.slice(0, 500).every(({ code }) => code === 'WORKFLOW_NODE_UNKNOWN')).toBe(true);
    expect(found.at(-1)).toMatchObject({
      code: 'WORKFLOW_PROBLEMS_MANY',
      severity: 'error',
      found: '19500 more problems',
    });
    expect(found[0]?.nearest).toBe('node-0');
  });

  test('omitted warnings do not count as errors', () => {
    const found = problems(...many(() => ({ needs: [{ type: 'target_branch', name: 'main' }] })));
    expect(found.every(({ severity }) => severity === 'warning')).toBe(true);
  });
});

test('arbitrary references never break the check', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd', '__proto__', 'constructor');
  const names = fc.array(name, { maxLength: 3 });
  const node = fc.record({
    id: name,
    uses: fc.constantFrom(
      'control.terminal',
      'control.prepare',
      'cap.agent.invoke',
      'cap.constructor',
      MERGE,
    ),
    after: names,
    on: fc.record({ succeeded: names, failed: names }),
    guard: fc.string({ minLength: 1, maxLength: 30 }),
    args: fc.dictionary(fc.string({ maxLength: 5 }), fc.string({ maxLength: 20 })),
  });
  fc.assert(
    fc.property(fc.array(node, { minLength: 1, maxLength: 6 }), (nodes) => {
      const definition: WorkflowDefinition = definitionOf(...nodes);
      const found = definitionProblems(definition);
      expect(definitionProblems(structuredClone(definition))).toEqual(found);
      expect(found.every(({ code }) => code.startsWith('WORKFLOW_'))).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

describe('recovery', () => {
  const RECOVER = { strategy: 'recover', maxRetries: 0, backoff: 'fixed', delayMs: 0 } as const;

  test('recover excludes other reactions to a failure', () => {
    expect(
      brief(
        { id: 'a', on: { succeeded: ['b'] } },
        {
          id: 'b',
          onError: RECOVER,
          on: { failed: ['a', 'c'] },
          retry: { mode: 'on_failure' },
          gatePolicy: 'warn',
        },
        { id: 'c' },
        { id: 'd', uses: 'control.gate.approval', onError: RECOVER },
      ),
    ).toEqual([
      'error WORKFLOW_RECOVER_ROUTE nodes[b].on.failed',
      'error WORKFLOW_RECOVER_RETRY nodes[b].retry.mode',
      'error WORKFLOW_RECOVER_POLICY nodes[b].gatePolicy',
      'error WORKFLOW_RECOVER_CONTROL nodes[d].onError',
    ]);
  });

  test('recover allows loops at effects, gates, agents and stages', () => {
    expect(
      problems(
        { id: 'a', uses: 'cap.agent.invoke', agent: ['x'], onError: RECOVER, on: { succeeded: ['b'] } },
        { id: 'b', uses: 'cap.env.builtin.git.stage_commit', onError: RECOVER, on: { succeeded: ['c'] } },
        {
          id: 'c',
          uses: 'control.gate.stop_condition',
          onError: RECOVER,
          on: { failed: ['a'], succeeded: ['d'] },
        },
        { id: 'd', effect: EFFECT, onError: RECOVER, on: { failed: ['d'] } },
      ),
    ).toEqual([]);
  });

  test('recovery rules of any definition are checked', () => {
    const definition: WorkflowDefinition = {
      ...definitionOf({ id: 'a' }),
      recovery: {
        rules: [
          { id: 'one', class: 'TRANSIENT', pattern: '(?=x)' },
          { id: 'one', class: 'UNKNOWN', uses: 'cap.*' },
        ],
      },
    };
    expect(definitionProblems(definition).map(({ code, path }) => `${code} ${path}`)).toEqual([
      'WORKFLOW_RECOVERY_RULE_TWICE recovery.rules[1].id',
      'WORKFLOW_RECOVERY_RULE_EMPTY recovery.rules[1]',
      'WORKFLOW_RECOVERY_PATTERN recovery.rules[0].pattern',
    ]);
  });
});
