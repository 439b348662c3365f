import { Gate } from '@holdpoint/contracts/workflow/gate';
import { describe, expect, test } from 'vitest';
import { errorsOf, FULL, HEAD, read } from '../../testing/gate.ts';

test('a gate with every section is compiled completely', () => {
  const { gate, problems } = read(FULL);
  expect(problems).toEqual([]);
  expect(Gate.parse(gate)).toEqual(gate);
  expect(gate).toMatchObject({
    id: 'release',
    version: '4',
    inputs: { note: { type: 'string' }, stage: { values: ['staging', 'live'], required: true } },
    given: {},
    loadContext: ['task', 'node', 'outputs', 'attempts', 'checkpoints'],
    request: {
      title: '{{ inputs.stage }}: {{ effect.target }}',
      audience: ['group:release', 'role:{{ inputs.team }}'],
      onOpen: [{ checkpoint: 'approval_requested', note: '{{ effect.digest }}' }, { checkpoint: 'asked' }],
    },
    policy: {
      decisions: ['approve', 'reject', 'request_changes'],
      quorum: 2,
      fourEyes: true,
      veto: false,
      onExpiry: 'expire',
      rules: false,
      remindMs: [300_000, 5_400_000],
      handOn: [
        { afterMs: 3_600_000, audience: ['user:ada'] },
        { afterMs: 420_000, audience: ['managers', 'role:duty'] },
      ],
    },
    timeoutMs: { default: 600_000, deploy: 7_200_000 },
    onDecision: {
      approve: { emit: 'resume_executor' },
      reject: { emit: 'return_to_orchestrator', phase: 'blocked' },
      request_changes: { emit: 'return_to_orchestrator', to: 'build' },
      expire: { emit: 'ask_orchestrator_for_resume_decision' },
    },
    resumePolicy: 'branches',
    resumeBranches: [{ emit: 'return_to_orchestrator', phase: 'recovering' }, { when: 'inputs.urgent' }],
    recovery: {
      onWorkerCrash: { emit: 'ask_orchestrator_for_resume_decision' },
      onDuplicateSideEffectAttempt: { emit: 'skip_duplicate_effect' },
    },
    constraints: [{ when: 'effect.kind == inputs.side_effect_kind', message: 'another kind' }],
  });
});

test('a gate with only id and version has the defaults', () => {
  expect(read(HEAD)).toMatchObject({
    gate: { inputs: {}, loadContext: [], request: { onOpen: [] }, policy: {}, resumePolicy: 'decision' },
    problems: [],
  });
});

const request = (text: string): string => `${HEAD}approval_request: ${text}\n`;

describe('problems of gates', () => {
  test.each<readonly [what: string, text: string, errors: readonly string[]]>([
    ['an empty file', '', ['WORKFLOW_VALUE_INVALID']],
    ['a list', '- 1\n', ['WORKFLOW_VALUE_INVALID']],
    ['no id and no version', 'policy: {}\n', ['WORKFLOW_KEY_MISSING id', 'WORKFLOW_KEY_MISSING version']],
    ['a version that is a list', 'id: a\nversion: [1]\n', ['WORKFLOW_VALUE_INVALID version']],
    ['an invalid id', 'id: A b\nversion: "1"\n', ['WORKFLOW_VALUE_INVALID id']],
    ['an unknown key', `${HEAD}polici: {}\n`, ['WORKFLOW_KEY_UNKNOWN polici']],
    [
      'unknown keys together with other mistakes',
      `${HEAD}policy: { qorum: 1 }\napproval_request: { titel: a, timeout: soon }\non_decision: { aprove: resume_executor }\n`,
      [
        'WORKFLOW_KEY_UNKNOWN approval_request.titel',
        'WORKFLOW_KEY_UNKNOWN policy.qorum',
        'WORKFLOW_KEY_UNKNOWN on_decision.aprove',
        'WORKFLOW_VALUE_COERCION approval_request.timeout.default',
      ],
    ],
    ['an unknown context', `${HEAD}load_context: [tasks]\n`, ['WORKFLOW_VALUE_INVALID load_context[0]']],
    [
      'an unknown decision',
      `${HEAD}allowed_decisions: [allow]\n`,
      ['WORKFLOW_VALUE_INVALID allowed_decisions[0]'],
    ],
    ['no decision', `${HEAD}allowed_decisions: []\n`, ['WORKFLOW_VALUE_INVALID allowed_decisions']],
    [
      'an unknown suggestion',
      `${HEAD}on_decision: { reject: stop }\n`,
      ['WORKFLOW_VALUE_INVALID on_decision.reject.emit'],
    ],
    [
      'resume_executor after a rejection',
      `${HEAD}on_decision: { reject: resume_executor }\n`,
      ['WORKFLOW_GATE_RESUME on_decision.reject.emit'],
    ],
    [
      'resume_executor after requested changes',
      `${HEAD}on_decision: { request_changes: resume_executor }\n`,
      ['WORKFLOW_GATE_RESUME on_decision.request_changes.emit'],
    ],
    [
      'resume_executor after expiry',
      `${HEAD}on_decision: { expire: resume_executor }\n`,
      ['WORKFLOW_GATE_RESUME on_decision.expire.emit'],
    ],
    [
      'a phase with resume_executor',
      `${HEAD}on_decision: { approve: { emit: resume_executor, phase: paused } }\n`,
      ['WORKFLOW_GATE_SUGGESTION on_decision.approve.phase'],
    ],
    [
      'a target node with skip_duplicate_effect',
      `${HEAD}recovery: { on_worker_crash: { emit: skip_duplicate_effect, to: a } }\n`,
      ['WORKFLOW_GATE_SUGGESTION recovery.on_worker_crash.to'],
    ],
    [
      'an invalid node name',
      `${HEAD}on_decision: { reject: { emit: return_to_orchestrator, to: "a b" } }\n`,
      ['WORKFLOW_VALUE_INVALID on_decision.reject.to'],
    ],
    [
      'a suggestion for an excluded decision',
      `${HEAD}allowed_decisions: [approve, reject]\non_decision: { request_changes: return_to_orchestrator }\n`,
      ['WORKFLOW_GATE_UNUSED on_decision.request_changes'],
    ],
    [
      'a suggestion for expire when expiry rejects',
      `${HEAD}policy: { on_expiry: reject }\non_decision: { expire: return_to_orchestrator }\n`,
      ['WORKFLOW_GATE_UNUSED on_decision.expire'],
    ],
    [
      'branches without effect',
      `${HEAD}resume_policy: decision\nresume_branches: [{ when: "true", emit: resume_executor }]\n`,
      ['WORKFLOW_GATE_UNUSED resume_policy'],
    ],
    [
      'resume_policy without branches',
      `${HEAD}resume_policy: branches\n`,
      ['WORKFLOW_GATE_UNUSED resume_policy'],
    ],
    [
      'an invalid time',
      request('{ timeout: soon }'),
      ['WORKFLOW_VALUE_COERCION approval_request.timeout.default'],
    ],
    [
      'a timeout for an unknown kind',
      request('{ timeout: { deploi: 5m } }'),
      ['WORKFLOW_KEY_UNKNOWN approval_request.timeout.deploi'],
    ],
    [
      'a reminder after the timeout',
      request('{ timeout: 10m, remind: [5m, 10m] }'),
      ['WORKFLOW_GATE_TIME approval_request.remind[1]'],
    ],
    [
      'a reminder after the default timeout',
      request('{ remind: [7d] }'),
      ['WORKFLOW_GATE_TIME approval_request.remind[0]'],
    ],
    [
      'an escalation after the timeout',
      request('{ timeout: 10m, hand_on: [{ after: 11m, audience: a }] }'),
      ['WORKFLOW_GATE_TIME approval_request.hand_on[0].after'],
    ],
    [
      'a title that does not parse',
      request('{ title: "{{ a ==}}" }'),
      ['WORKFLOW_EXPRESSION approval_request.title'],
    ],
    [
      'a body with a macro',
      request('{ body: "{% macro a() %}{% endmacro %}" }'),
      ['WORKFLOW_EXPRESSION approval_request.body'],
    ],
    [
      'a body with a name that is not loaded',
      request('{ body: "{{ task.goal }}" }'),
      ['WORKFLOW_EXPRESSION approval_request.body'],
    ],
    [
      'a note with an unknown name',
      request('{ on_open: [{ task_record_checkpoint: { checkpoint: a, note: "{{ x }}" } }] }'),
      ['WORKFLOW_EXPRESSION approval_request.on_open[0].task_record_checkpoint.note'],
    ],
    [
      'an unknown action in on_open',
      request('{ on_open: [{ task_resolve_approval: {} }] }'),
      [
        'WORKFLOW_KEY_MISSING approval_request.on_open[0].task_record_checkpoint',
        'WORKFLOW_KEY_UNKNOWN approval_request.on_open[0].task_resolve_approval',
      ],
    ],
    [
      'a decision name in a constraint',
      `${HEAD}constraints: [{ when: decision.outcome, message: a }]\n`,
      ['WORKFLOW_EXPRESSION constraints[0].when'],
    ],
    [
      'a condition with a statement',
      `${HEAD}constraints: [{ when: "{% if a %}", message: a }]\n`,
      ['WORKFLOW_EXPRESSION constraints[0].when'],
    ],
    [
      'an empty condition',
      `${HEAD}constraints: [{ when: "", message: a }]\n`,
      ['WORKFLOW_EXPRESSION constraints[0].when'],
    ],
    [
      'an empty message',
      `${HEAD}constraints: [{ when: "true", message: "" }]\n`,
      ['WORKFLOW_VALUE_INVALID constraints[0].message'],
    ],
    [
      'an invalid audience',
      request('{ audience: ["a b", ":y"] }'),
      ['WORKFLOW_GATE_AUDIENCE approval_request.audience[1]'],
    ],
    ['an empty audience', request('{ audience: [] }'), ['WORKFLOW_VALUE_INVALID approval_request.audience']],
    [
      'an escalation with an expression as its audience',
      request('{ hand_on: [{ after: 1m, audience: "{{ inputs.a }}" }] }'),
      ['WORKFLOW_GATE_AUDIENCE approval_request.hand_on[0].audience[0]'],
    ],
    [
      'a quorum above the number of approvers',
      `${request('{ audience: ["user:a", "user:b", "user:a"] }')}policy: { quorum: 3 }\n`,
      ['WORKFLOW_GATE_QUORUM policy.quorum'],
    ],
    ['a quorum of zero', `${HEAD}policy: { quorum: 0 }\n`, ['WORKFLOW_VALUE_INVALID policy.quorum']],
    ['an input of an unknown type', `${HEAD}inputs: { a: text }\n`, ['WORKFLOW_VALUE_INVALID inputs.a.type']],
    ['an input with a bad name', `${HEAD}inputs: { A-b: string }\n`, ['WORKFLOW_VALUE_INVALID inputs.A-b']],
    ['an enum without values', `${HEAD}inputs: { a: enum }\n`, ['WORKFLOW_GATE_INPUT inputs.a.values']],
    [
      'values for a string input',
      `${HEAD}inputs: { a: { type: string, values: [b] } }\n`,
      ['WORKFLOW_GATE_INPUT inputs.a.values'],
    ],
    [
      'a default of another type',
      `${HEAD}inputs: { a: { type: integer, default: "1" } }\n`,
      ['WORKFLOW_GATE_INPUT inputs.a.default'],
    ],
    [
      'a fractional default of an integer',
      `${HEAD}inputs: { a: { type: integer, default: 1.5 } }\n`,
      ['WORKFLOW_GATE_INPUT inputs.a.default'],
    ],
    [
      'a default outside of the values',
      `${HEAD}inputs: { a: { type: enum, values: [b], default: c } }\n`,
      ['WORKFLOW_GATE_INPUT inputs.a.default'],
    ],
    [
      'a default of a required input',
      `${HEAD}inputs: { a: { type: string, default: c, required: true } }\n`,
      ['WORKFLOW_GATE_INPUT inputs.a.default'],
    ],
    [
      'an expression in a default',
      `${HEAD}inputs: { a: { type: string, default: "{{ b }}" } }\n`,
      ['WORKFLOW_GATE_INPUT inputs.a.default'],
    ],
    [
      'a side_effect_kind that is not an enum',
      `${HEAD}inputs: { side_effect_kind: string }\n`,
      ['WORKFLOW_GATE_INPUT inputs.side_effect_kind.type'],
    ],
    [
      'an unknown kind among the values',
      `${HEAD}inputs: { side_effect_kind: { type: enum, values: [deploi] } }\n`,
      ['WORKFLOW_GATE_INPUT inputs.side_effect_kind.values'],
    ],
    ['the key __proto__', `${HEAD}__proto__: {}\n`, ['WORKFLOW_KEY_UNKNOWN']],
    [
      'a text with NUL',
      `${HEAD}constraints: [{ when: "true", message: "\\0" }]\n`,
      ['WORKFLOW_VALUE_INVALID constraints[0].message'],
    ],
    ['NaN', `${HEAD}policy: { quorum: .nan }\n`, ['WORKFLOW_VALUE_INVALID policy.quorum']],
  ])('a gate is refused: %s', (_what, text, errors) => {
    expect([...errorsOf(text)].sort()).toEqual([...errors].sort());
    expect(read(text).gate).toBeUndefined();
  });

  test('problems name the nearest name and missing load_context entries', () => {
    const nearest = (text: string): readonly (string | undefined)[] =>
      read(text).problems.map((one) => one.nearest);
    expect(nearest(`${HEAD}polici: {}\nallowed_decision: [approve]\n`)).toEqual([
      'policy',
      'allowed_decisions',
    ]);
    expect(nearest(`${HEAD}allowed_decisions: [aprove]\nload_context: [atempts]\n`)).toEqual([
      'attempts',
      'approve',
    ]);
    expect(nearest(`${HEAD}inputs: { side_effect_kind: { type: enum, values: [deploi] } }\n`)).toEqual([
      'deploy',
    ]);
    expect(read(request('{ body: "{{ task.goal }}" }')).problems[0]?.found).toContain(
      'load_context does not list task',
    );
  });

  test('a quorum is checked only against named users, including escalation', () => {
    const audience = (who: string): string => `${request(who)}policy: { quorum: 2 }\n`;
    expect(errorsOf(audience('{ audience: ["user:a", ops] }'))).toEqual([]);
    expect(errorsOf(audience('{ audience: ["user:{{ inputs.x }}"] }'))).toEqual([]);
    expect(
      errorsOf(audience('{ audience: ["user:a"], hand_on: [{ after: 1m, audience: "user:b" }] }')),
    ).toEqual([]);
    expect(errorsOf(audience('{ audience: ["user:a"] }'))).toEqual(['WORKFLOW_GATE_QUORUM policy.quorum']);
    expect(errorsOf(`${HEAD}policy: { quorum: 20 }\n`)).toEqual([]);
  });
});

describe('refused YAML', () => {
  const bomb = `a: &a [x, x, x]\n${Array.from({ length: 9 }, (_, at) => `${String.fromCharCode(98 + at)}: &${String.fromCharCode(98 + at)} [${`*${String.fromCharCode(97 + at)}, `.repeat(9)}1]\n`).join('')}`;
  test.each<readonly [what: string, text: string, errors: readonly string[]]>([
    ['a duplicate key', `${HEAD}version: "2"\n`, ['WORKFLOW_SYNTAX']],
    ['a nested duplicate key', request('{ title: a, title: b }'), ['WORKFLOW_SYNTAX']],
    ['a tag', `${HEAD}policy: !!map {}\n`, ['WORKFLOW_YAML_REFUSED']],
    ['a tag of its own', `${HEAD}policy: !js {}\n`, ['WORKFLOW_YAML_REFUSED']],
    ['an anchor', `${HEAD}policy: &p {}\n`, ['WORKFLOW_YAML_REFUSED']],
    [
      'a merge',
      `${HEAD}policy: &p {}\nrecovery:\n  <<: *p\n`,
      ['WORKFLOW_YAML_REFUSED', 'WORKFLOW_YAML_REFUSED'],
    ],
    ['a directive', `%YAML 1.1\n---\n${HEAD}`, ['WORKFLOW_YAML_REFUSED']],
    ['two documents', `${HEAD}---\n${HEAD}`, ['WORKFLOW_SYNTAX']],
    ['a key that is a list', `${HEAD}? [a]\n: b\n`, ['WORKFLOW_SYNTAX']],
    ['a tab', 'id:\n\ta: 1\n', ['WORKFLOW_SYNTAX']],
    ['a missing bracket', `${HEAD}load_context: [task\n`, ['WORKFLOW_SYNTAX']],
    [
      '33 levels',
      `${HEAD}inputs: { a: { type: list, default: ${'['.repeat(31)}${']'.repeat(31)} } }\n`,
      ['WORKFLOW_FILE_TOO_DEEP'],
    ],
    ['deeply nested brackets', '['.repeat(250_000), ['WORKFLOW_FILE_TOO_DEEP']],
    ['deeply nested lists', '- '.repeat(130_000), ['WORKFLOW_FILE_TOO_DEEP']],
    ['more than 256 KiB', `${HEAD}# ${'x'.repeat(262_144)}\n`, ['WORKFLOW_FILE_TOO_LARGE']],
    [
      'too many keys',
      Array.from({ length: 40_000 }, (_, at) => `a${String(at)}:`)
        .join('\n')
        .slice(0, 262_000),
      ['WORKFLOW_FILE_TOO_LARGE'],
    ],
  ])('%s is refused', (_what, text, errors) => {
    const found = read(text);
    expect([...new Set(found.problems.map(({ code }) => code))]).toEqual([...new Set(errors)]);
    expect(found.problems.length).toBeGreaterThanOrEqual(errors.length);
    expect(found.gate).toBeUndefined();
  });

  test('a YAML alias bomb is refused before expansion', () => {
    const { gate, problems } = read(`${HEAD}${bomb}`);
    expect(gate).toBeUndefined();
    expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(['WORKFLOW_YAML_REFUSED']));
  });

  test('YAML problems have line and column', () => {
    expect(read(`${HEAD}policy: !x {}\n`).problems[0]).toMatchObject({ line: 3, column: 9 });
    expect(read(`${HEAD}version: "2"\n`).problems[0]).toMatchObject({ line: 3, column: 1 });
  });

  test('YAML syntax inside a text is harmless', () => {
    const text = request('\n  title: "!x &a *b %c"\n  body: |\n    *a &b !c\n    <<: d\n    [[[[[[');
    expect(errorsOf(text)).toEqual([]);
  });
});
