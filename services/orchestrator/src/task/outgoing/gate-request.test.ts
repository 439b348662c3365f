import { BODY_MAX, RequestApproval } from '@holdpoint/contracts/approval/commands';
import { type Gate, GateContext } from '@holdpoint/contracts/workflow/gate';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import { describe, expect, test } from 'vitest';
import { applied, approves, fails, rejects, succeeds, wantsChanges } from '../../../testing/answers.ts';
import {
  agent,
  APPROVAL,
  branch,
  effect,
  gate,
  gatedEffect,
  id,
  node,
  template,
  text,
} from '../../../testing/graphs.ts';
import { type Play, play } from '../../../testing/play.ts';
import { byHand } from '../../../testing/tasks.ts';
import { gateScope } from './gate-scope.ts';

const asking = (body: string, change: Partial<Gate> = {}): Partial<Gate> => ({
  loadContext: ['task', 'node'],
  ...change,
  request: { onOpen: [], body, ...change.request },
});
const request = (task: Play): RequestApproval => {
  const [sent] = task.sent('approval.request');
  return RequestApproval.parse(sent?.data);
};
/** The request of a gate with this body. */
const bodyOf = (body: string, change: Partial<Gate> = {}): string | undefined =>
  request(play([gatedEffect('a', asking(body, change))], { inputs: { n: 5, who: 'ada', none: '' } })).body;
/** The error of the node that failed before its request. */
const problemOf = (change: Partial<Gate>, inputs = {}): unknown => {
  const task = play([gatedEffect('a', change)], { inputs });
  expect(task.sent('approval.request')).toEqual([]);
  expect(task.task.phase).toBe('failed');
  return task.node('a').error;
};
const expression = (message: string) => ({
  code: 'NODE_EXPRESSION',
  message: expect.stringContaining(message) as string,
});

describe('a request', () => {
  test('a request without a gate names its effect and workflow', () => {
    expect(request(play([effect('a')]))).toMatchObject({
      title: 'all of it: file append on file:somewhere',
      audience: ['operators'],
      timeoutMs: 60_000,
      workflow: 'graph',
    });
    expect(request(play([effect('a')]))).not.toHaveProperty('gate');
    expect(request(play([node('a', { approval: APPROVAL })]))).toMatchObject({ workflow: 'graph' });
  });

  test('a request has the texts of its gate', () => {
    const policy = { quorum: 2, fourEyes: true, onExpiry: 'reject' as const };
    const asked = request(
      play([
        gatedEffect('a', {
          loadContext: ['task'],
          policy,
          request: {
            title: 'Append  to {{ effect.target }}\nfor {{ task.goal }}',
            audience: ['user:{{ task.requestedBy }}', '{{ inputs.none }}', 'role:leads'],
            body: '{% if effect.kind == "write_external" %}outside{% else %}inside{% endif %}',
            onOpen: [],
          },
          inputs: { none: { type: 'string', default: '' } },
        }),
      ]),
    );
    expect(asked).toMatchObject({
      title: 'Append to file:somewhere for all of it',
      audience: ['user:linus', 'role:leads'],
      body: 'outside',
      policy,
      gate: 'checked@1',
    });
  });

  test('a request goes to the audience of the effect when the gate leaves none', () => {
    const names = { audience: ['{{ "" }}', '{{ " " }}'], onOpen: [] };
    expect(request(play([gatedEffect('a', { request: names })])).audience).toEqual(['operators']);
  });

  test('a request with an invalid audience fails the node', () => {
    expect(problemOf({ request: { audience: ['{{ "a, b" }}'], onOpen: [] } })).toMatchObject(
      expression('"a, b" is no valid audience'),
    );
  });

  test.each([
    [{ write_external: 5_000, default: 6_000 }, 5_000],
    [{ deploy: 5_000, default: 6_000 }, 6_000],
    [{ deploy: 5_000 }, 60_000],
  ])('a request waits as long as the gate says for its kind (%j)', (timeoutMs, waits) => {
    expect(request(play([gatedEffect('a', { timeoutMs })])).timeoutMs).toBe(waits);
  });

  test('a repeated request is unchanged', () => {
    const task = play([
      gatedEffect('a', asking('{{ outputs | length }}', { loadContext: ['outputs'] })),
      node('other'),
    ]);
    const [first] = task.sent('approval.request');
    expect(first?.data).toMatchObject({ body: '0' });
    const again = task.when(succeeds('other', { outputs: { x: 1 } })).wait(20_000);
    const sent = again.made.send.find(({ subject }) => subject.includes('approval.request'));
    expect(sent?.data).toMatchObject({ body: '0' });
  });

  test('a request is cut to its limits', () => {
    const long = { goal: `x${'\u0001'.repeat(99_000)}` };
    const cut = request(play([gatedEffect('a', asking('{{ task.goal }}'))], long)).body;
    expect(cut).toHaveLength(BODY_MAX);
    expect(cut).toMatch(/\[…\]$/);
    const args = Object.fromEntries(
      Array.from({ length: 14 }, (_, at) => [`line${String(at)}`, '{{ inputs.big }}']),
    );
    const own = { file: 'a', line: 'b', ...args };
    const task = play([gatedEffect('a', asking('{{ task.goal }}'), { args: own })], {
      ...long,
      inputs: { big: 'x'.repeat(60_000) },
    });
    expect(request(task).body?.length).toBeLessThan(BODY_MAX);
    for (const { data } of task.made.send)
      expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(PAYLOAD_MAX_BYTES - 65_536);
    const asked = task.history.filter(({ type }) => type === 'approval_requested');
    expect(asked).toHaveLength(1);
    for (const event of asked)
      expect(Buffer.byteLength(JSON.stringify(event))).toBeLessThan(PAYLOAD_MAX_BYTES);
  });

  test('an effect beyond the message limit fails the node', () => {
    const args = { file: 'a', line: '{{ task.goal }}{{ task.goal }}' };
    const many = Object.fromEntries(
      Array.from({ length: 30 }, (_, at) => [`line${String(at)}`, '{{ inputs.big }}']),
    );
    const big = 'x'.repeat(60_000);
    const task = play([gatedEffect('a', {}, { args: { ...args, ...many } })], { inputs: { big } });
    expect(task.node('a').error).toMatchObject(expression('the limit is'));
    expect(task.task.phase).toBe('failed');
  });
});

describe('the scope of a gate', () => {
  test.each([
    ['{{ task.id }} {{ task.goal }} {{ task.workflow }}', 't-1 all of it graph'],
    ['{{ node.id }} {{ node.uses }} {{ node.attempt }} {{ node.revision }}', 'a cap.file.append 1 1'],
    ['{{ effect.kind }} {{ effect.class }} {{ effect.target }}', 'write_external keyed file:somewhere'],
    ['{{ effect.idempotency_key }} {{ effect.digest | length }}', 'once 64'],
    ['{% if effect.probe %}yes{% else %}no{% endif %}', 'no'],
  ])('the scope has %s', (body, text) => {
    expect(bodyOf(body)).toBe(text);
  });

  test('the scope has the acceptance criteria and the arguments of the effect', () => {
    const body = '{% for each in task.acceptance_criteria %}- {{ each }} {% endfor %}{{ effect.args.line }}';
    const task = play([gatedEffect('a', asking(body), { args: { file: 'a', line: '{{ task.goal }}' } })], {
      acceptanceCriteria: ['one', 'two'],
    });
    expect(request(task).body).toBe('- one - two all of it');
  });

  test('the scope has the parts of a task that other gates name', () => {
    const body =
      '{{ task.title }}|{{ task.phase.current }}|{{ task.spec.goal }}|{{ task.spec.acceptance_criteria | length }}|' +
      '{{ task.reviews.spec.latest_verdict }}|{{ task.artifacts.primary.latest.uri }}|{{ task.approvals.latest.status }}';
    const task = play([gatedEffect('a', asking(body))], { acceptanceCriteria: ['one'] });
    expect(request(task).body).toBe('all of it|awaiting_approval|all of it|1|none|none|none');
  });

  test('a request shows the latest reviews and artifact of the work before it', () => {
    const body =
      '{{ task.reviews.spec.latest_verdict }} {{ task.reviews.quality.latest_verdict }} {{ task.artifacts.primary.latest.uri }}';
    const nodes = [
      node('check', { review: 'quality', produces: { succeeded: [branch('main')] } }),
      gatedEffect('a', asking(body), { after: ['check'] }),
    ];
    const asked = request(
      play(nodes).when(succeeds('check', { detail: '12 tests', outputs: { commit: 'abcdef1' } })),
    );
    expect(asked.body).toBe('none passed git:main@abcdef1');
    expect(asked.facts).toMatchObject({
      goal: 'all of it',
      phase: 'awaiting_approval',
      attempt: 1,
      reviews: { quality: { verdict: 'passed', summary: '12 tests', by: 'node check', node: 'check' } },
      artifact: { kind: 'target_branch', uri: 'git:main@abcdef1' },
    });
  });

  test.each([
    [{ outputs: { url: 'https://builds.example/7' } }, 'https://builds.example/7'],
    [{ outputs: { url: 'javascript:alert(1)' } }, 'holdpoint://log/t-1/check'],
  ])('the link of an artifact is an address in the outputs %j, or the log of its node', (result, uri) => {
    const nodes = [
      node('check', { produces: { succeeded: [text('plan')] } }),
      gatedEffect('a', asking('{{ task.artifacts.primary.latest.uri }}'), { after: ['check'] }),
    ];
    expect(request(play(nodes).when(succeeds('check', result))).body).toBe(uri);
  });

  test('the inputs of a request are names of the gate, and no effect gives another requester', () => {
    const names = [
      'task_id',
      'attempt_id',
      'requested_action',
      'requested_by',
      'idempotency_key',
      'rollback_hint',
    ];
    const inputs = Object.fromEntries(names.map((name) => [name, { type: 'string' as const }]));
    const body = names.map((name) => `{{ ${name} or "none provided" }}`).join('|');
    const given = { requested_by: 'the boss', requested_action: 'release it' };
    expect(bodyOf(body, { inputs, given })).toBe('t-1|a/1|release it|linus|once|none provided');
  });

  test('the scope has the rendered probe and compensation commands', () => {
    const declared = { probe: 'test -f {{ task.id }}', compensate: 'rm x', rollbackHint: 'look' };
    const body = '{{ effect.probe }}; {{ effect.compensate }}; {{ effect.rollback_hint }}';
    const task = play([effect('a', {}, { ...declared, gate: template(asking(body)) })]);
    expect(request(task).body).toBe('test -f t-1; rm x; look');
  });

  test('the scope has only what the gate loads', () => {
    const task = play([effect('a')]);
    const { gate: asked } = task.node('a');
    if (asked === undefined) throw new Error('nothing was asked');
    const names = (...loadContext: Gate['loadContext']) =>
      Object.keys(gateScope(task.task, id('a'), template({ loadContext }), { ...asked, revision: 1 }, {}));
    expect(names().toSorted()).toEqual(['effect', 'inputs']);
    for (const name of GateContext.options)
      expect(names(name).toSorted()).toEqual(['effect', 'inputs', name].toSorted());
  });

  test('the scope has the outputs of ended nodes when they are loaded', () => {
    const body = '{{ outputs.one.n }}{{ outputs.three is defined }}';
    const gated = gatedEffect('a', asking(body, { loadContext: ['outputs'] }), { after: ['one'] });
    const task = play([node('one'), gated, node('three', { after: ['a'] })]);
    expect(request(task.when(succeeds('one', { outputs: { n: 4 } }))).body).toMatch(/^4false$/i);
  });

  test('the scope has the earlier attempts when they are loaded', () => {
    const body =
      '{% for each in attempts %}{{ each.attempt }} {{ each.outcome }} {{ each.error.message }}; {% endfor %}';
    const gated = gatedEffect('a', asking(body, { loadContext: ['attempts'] }), { after: ['writer'] });
    const first = play([agent('writer'), gated]).when(succeeds('writer'));
    expect(request(first).body).toBeUndefined();
    const again = first.when(wantsChanges('a', { comment: 'shorter' }), succeeds('writer'));
    expect(request(again).body).toBe('1 changes_requested changes requested by grace: shorter; ');
    const third = again.when(rejects('a'), byHand('retry', { rewind: true }));
    expect(request(third).body).toContain('2 rejected rejected by grace; ');
  });

  test('the scope has the checkpoints when they are loaded', () => {
    const change = { loadContext: ['checkpoints' as const] };
    const named = { onOpen: [{ checkpoint: 'opened' }], body: '{{ checkpoints | length }}' };
    const task = play([
      gatedEffect('a', { ...change, request: named }),
      gatedEffect('b', { ...change, request: named }, { after: ['a'] }),
    ]);
    expect(request(task).body).toBe('0');
    // Opened, and granted.
    expect(request(task.when(approves('a'), applied('a'))).body).toBe('2');
  });
});

describe('the inputs of a gate', () => {
  const body = '{{ inputs.x }}|{{ inputs.x is string }}';
  const given = (type: Gate['inputs'][string]['type'], value: unknown) =>
    ({
      inputs: { x: { type, ...(type === 'enum' && { values: ['low', 'high'] }) } },
      given: { x: value },
    }) as Partial<Gate>;

  test.each([
    ['string', 'for {{ inputs.who }}', 'for ada'],
    ['string', 'plain', 'plain'],
    ['integer', '{{ inputs.n }}', '5'],
    ['integer', '{{ inputs.n + 1 }}', '6'],
    ['integer', '7', '7'],
    ['number', 1.5, '1.5'],
    ['boolean', '{{ inputs.n > 4 }}', 'true'],
    ['boolean', 'false', 'false'],
    ['string', '{{ inputs.n }}', '5'],
    ['enum', 'low', 'low'],
    ['enum', '{{ "high" if inputs.n > 4 else "low" }}', 'high'],
    ['list', '{{ [1, inputs.n] }}', '[1,5]'],
    ['list', ['{{ inputs.who }}'], '["ada"]'],
  ] as const)('an input of type %s reads %j as %s', (type, value, text) => {
    expect(bodyOf(body, given(type, value))?.split('|')[0]?.toLowerCase()).toBe(text);
  });

  test.each([
    ['string', 5],
    ['integer', 1.5],
    ['integer', 'five'],
    ['number', 'five'],
    ['boolean', 'perhaps'],
    ['enum', 'medium'],
    ['list', 'x'],
    ['object', []],
  ] as const)('an input of type %s refuses %j', (type, value) => {
    expect(problemOf(given(type, value))).toMatchObject(expression('gate checked@1: input x must be'));
  });

  test('inputs have defaults and may be optional or required', () => {
    const inputs = { x: { type: 'integer' as const, default: 3 } };
    expect(bodyOf('{{ inputs.x }}', { inputs })).toBe('3');
    const optional = { x: { type: 'integer' as const } };
    expect(bodyOf('{{ inputs.x is none }}', { inputs: optional })).toMatch(/true/i);
    expect(problemOf({ inputs: { x: { type: 'integer', required: true } } })).toMatchObject(
      expression('input x is missing'),
    );
  });

  test('the input for the effect kind is filled in', () => {
    const values = ['write_external', 'deploy'];
    const inputs = { side_effect_kind: { type: 'enum' as const, values } };
    expect(bodyOf('{{ inputs.side_effect_kind }}', { inputs })).toBe('write_external');
  });

  test('too large inputs are refused', () => {
    const inputs = { x: { type: 'list' as const } };
    const big = 'x'.repeat(40_000);
    expect(problemOf({ inputs, given: { x: [big, big] } })).toMatchObject(expression('inputs exceed'));
  });
});

describe('an error in a gate', () => {
  test.each([
    ['a title', { request: { title: '{{ effect.no < 1 }}', onOpen: [] } }],
    ['a body', asking('{% if effect.no < 1 %}x{% endif %}')],
    ['a name', { request: { audience: ['{{ effect.no < 1 }}'], onOpen: [] } }],
    ['a note', { request: { onOpen: [{ checkpoint: 'x', note: '{{ effect.no < 1 }}' }] } }],
    ['a constraint', { constraints: [{ when: 'effect.no < 1', message: 'no' }] }],
    ['an input', { inputs: { x: { type: 'string' } }, given: { x: 'a {{ effect.no < 1 }}' } }],
  ] as const)('an error in %s fails the node before people are asked', (_, change) => {
    expect(problemOf(change as Partial<Gate>)).toMatchObject(expression('cannot compare undefined'));
  });

  test('an error in a gate follows the route of a failure', () => {
    const task = play([
      gatedEffect('a', asking('{{ effect.no < 1 }}'), { on: { failed: ['b'] } }),
      node('b'),
    ]);
    expect(task.statusOf('a', 'b')).toEqual(['failed', 'running']);
  });

  test('an error after an expired grant fails the node as well', () => {
    const gone = asking('{{ inputs.now[node.revision - 1] }}', {
      inputs: { now: { type: 'list', default: ['yes'] } },
      constraints: [{ when: 'node.revision < 2', message: 'asked once only' }],
    });
    const running = play([gatedEffect('a', gone)]).when(approves('a'));
    const late = running.when((task) => {
      const { gate: asked } = running.node('a');
      const order = { id: asked?.effectId, attempt: 1, ...asked, grant: asked?.grant?.token };
      const about = { id: asked?.effectId, task: task.id, node: id('a'), attempt: 1 };
      const error = { code: 'EXECUTOR_GRANT_EXPIRED', message: 'late' };
      return { kind: 'effect', event: { type: 'refused', ...about, order, error } as never };
    });
    expect(late.node('a').error).toMatchObject({ code: 'NODE_EXPRESSION', message: 'asked once only' });
    expect(late.task.phase).toBe('failed');
  });
});

describe('a constraint', () => {
  const constraints = [
    { when: 'effect.kind != "deploy"', message: 'not for deployments' },
    { when: 'inputs.size < 10', message: 'it is too large' },
  ];
  const inputs = { size: { type: 'integer' as const } };

  test('a false constraint fails the node with its message', () => {
    expect(problemOf({ constraints, inputs, given: { size: 11 } })).toMatchObject({
      code: 'NODE_EXPRESSION',
      message: 'it is too large',
    });
  });

  test('a true constraint opens the request', () => {
    expect(play([gatedEffect('a', { constraints, inputs, given: { size: 1 } })]).statusOf('a')).toEqual([
      'awaiting_approval',
    ]);
  });
});

describe('on_open', () => {
  const onOpen = [{ checkpoint: 'asked', note: 'about {{ effect.target }}' }, { checkpoint: 'waiting' }];
  const noted = (task: Play) => (task.task.checkpoints ?? []).filter(({ kind }) => kind === 'noted');

  test('on_open records its checkpoints once per request', () => {
    const task = play([gatedEffect('a', { request: { onOpen } })]);
    const asked = { kind: 'noted', node: 'a', attempt: 1, revision: 1 };
    expect(noted(task)).toEqual([
      { ...asked, name: 'asked', reason: 'asked: about file:somewhere' },
      { ...asked, name: 'waiting', reason: 'waiting' },
    ]);
    expect(noted(task.wait(100_000))).toHaveLength(2);
  });

  test('on_open records its checkpoints again with the next request', () => {
    const task = play([agent('w'), gatedEffect('a', { request: { onOpen } }, { after: ['w'] })]);
    const again = task.when(succeeds('w'), wantsChanges('a'), succeeds('w'));
    expect(noted(again).map(({ revision }) => revision)).toEqual([1, 1, 2, 2]);
  });
});

test('a failed and retried gate requests approval again', () => {
  const task = play([
    gatedEffect('a', asking('attempt {{ node.attempt }}')),
    gate('g', { after: ['a'], on: { failed: ['a'] } }),
  ]);
  expect(request(task.when(approves('a'), applied('a'), fails('g'))).body).toBe('attempt 2');
});
