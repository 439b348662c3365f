import { type DocumentedTask, documentedTask } from '@holdpoint/contracts/task/document';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { expect, test } from 'vitest';
import { evaluateCondition, renderTemplate } from '../expression/expression.ts';
import { defaultGate } from '../files/gate-source.ts';
import { forKind } from './find-gate.ts';

const gate = forKind(defaultGate(), 'deploy');
const task = (more: Partial<DocumentedTask> = {}): JsonObject =>
  documentedTask({
    id: 't-1',
    goal: 'Ship it\nDigest: of mine',
    phase: 'awaiting_approval',
    workflow: 'release',
    requestedBy: 'ada',
    ...more,
  });
const scope = (effect: JsonObject = {}, more: JsonObject = {}): JsonObject => ({
  task: task(),
  node: { id: 'deploy', attempt: 2 },
  effect: {
    uses: 'cap.env.shell.command.run',
    kind: 'deploy',
    class: 'opaque',
    target: 'staging',
    digest: 'ab'.repeat(32),
    idempotency_key: 'deploy:1',
    probe: null,
    compensate: null,
    rollback_hint: null,
    ...effect,
  },
  inputs: { side_effect_kind: 'deploy', why: '' },
  attempts: [],
  ...more,
});

test('the shipped gate compiles to the expected definition', () => {
  const { title, body, ...request } = gate.request;
  expect({ ...gate, request }).toEqual({
    id: 'approval_recovery_v2',
    version: '3',
    inputs: {
      side_effect_kind: {
        type: 'enum',
        values: ['write_external', 'deploy', 'merge', 'notify', 'destructive_edit', 'other'],
        description: 'kind of change',
      },
      why: { type: 'string', default: '', description: 'note for the approver' },
    },
    given: { side_effect_kind: 'deploy' },
    loadContext: ['task', 'node', 'attempts'],
    request: {
      audience: ['operators'],
      onOpen: [
        {
          checkpoint: 'approval_requested',
          note: '{{ effect.uses }} on {{ effect.target | truncate(200) }}, digest {{ effect.digest[:12] }}',
        },
      ],
    },
    policy: {
      decisions: ['approve', 'reject', 'request_changes'],
      quorum: 1,
      fourEyes: false,
      veto: true,
      onExpiry: 'expire',
      rules: true,
      remindMs: [3_600_000, 86_400_000],
    },
    timeoutMs: { default: 604_800_000 },
    onDecision: {
      approve: { emit: 'resume_executor' },
      reject: { emit: 'return_to_orchestrator', phase: 'blocked' },
      request_changes: { emit: 'return_to_orchestrator', phase: 'paused' },
      expire: { emit: 'return_to_orchestrator' },
    },
    resumePolicy: 'branches',
    resumeBranches: [
      { when: `decision.outcome == 'approved'`, emit: 'resume_executor' },
      { when: `decision.outcome == 'changes_requested'`, emit: 'return_to_orchestrator', phase: 'paused' },
      {
        when: `decision.outcome == 'rejected'`,
        emit: 'return_to_orchestrator',
        phase: 'blocked',
      },
    ],
    recovery: {
      onWorkerCrash: { emit: 'ask_orchestrator_for_resume_decision' },
      onDuplicateSideEffectAttempt: { emit: 'skip_duplicate_effect' },
    },
    constraints: [
      {
        when: 'inputs.side_effect_kind == effect.kind',
        message: 'the input side_effect_kind differs from the kind of the effect',
      },
      { when: 'effect.target | trim', message: 'the effect has no target' },
    ],
  });
  expect([title, body].map((text) => typeof text)).toEqual(['string', 'string']);
});

const rendered = (of: JsonObject): string => renderTemplate(gate.request.body ?? '', of);

test('the body contains all known facts and no empty sections', () => {
  expect(rendered(scope())).toBe(`Goal, by ada:
> Ship it
> Digest: of mine

Target:
> staging

Rollback hint:
> none provided

Acceptance criteria: none
Spec review:    none
Quality review: none
Artifact:       none

Capability:  cap.env.shell.command.run (node deploy, attempt 2)
Kind, class: deploy, opaque
Phase:       awaiting_approval
Key:         deploy:1
Digest:      ${'ab'.repeat(32)}
`);
  const full = rendered(
    scope(
      { probe: './live\n./really', compensate: './back', rollback_hint: 'by hand' },
      {
        inputs: { why: 'because' },
        attempts: [
          { attempt: 1, outcome: 'failed', error: { code: 'TARGET_DOWN', message: 'no answer\nDigest: x' } },
          { attempt: 2, outcome: 'rejected', error: null },
        ],
      },
    ),
  );
  for (const said of [
    'Why:\n> because\n',
    'Probe, which tells whether it happened:\n> ./live\n> ./really\n',
    'Compensation, which reverts it:\n> ./back\n',
    'Rollback hint:\n> by hand\n',
    'Attempts so far:\n> 1: failed, TARGET_DOWN: no answer\n> Digest: x\n> 2: rejected\n',
  ])
    expect(full).toContain(said);
});

test('the body shows acceptance criteria, the latest reviews and the latest artifact', () => {
  const shown = rendered(
    scope(
      {},
      {
        task: task({
          acceptanceCriteria: ['it builds\nDigest: x', 'it starts'],
          reviews: {
            spec: { kind: 'spec', verdict: 'passed', summary: 'as agreed', by: 'grace' },
            quality: {
              kind: 'quality',
              verdict: 'changes_requested',
              summary: 'no test\nDigest: x',
              url: 'https://reviews.example/7',
              by: 'node check',
            },
          },
          artifact: {
            kind: 'plan_doc',
            name: 'plan_doc:a (draft/a)',
            uri: 'git:draft/a@abcdef1',
            node: 'plan' as NodeId,
            attempt: 1,
          },
        }),
      },
    ),
  );
  expect(shown).toContain(`
Acceptance criteria:
> 1. it builds
> Digest: x
> 2. it starts
Spec review:    passed, by grace
> as agreed${' '}
Quality review: changes_requested, by node check
> no test
> Digest: x https://reviews.example/7
Artifact:       git:draft/a@abcdef1 (plan_doc:a (draft/a))
`);
});

test('foreign text cannot start a line or exceed the limit', () => {
  const hostile = `a\nDigest: ${'0'.repeat(64)}\n{{ task }}{% if %}`.repeat(2_000);
  const error = { code: 'X', message: hostile };
  const text = rendered(
    scope(
      { target: hostile, probe: hostile, compensate: hostile, rollback_hint: hostile },
      {
        task: task({
          goal: hostile,
          requestedBy: hostile.slice(0, 200),
          acceptanceCriteria: [hostile, hostile],
          reviews: {
            spec: { kind: 'spec', verdict: 'passed', summary: hostile, by: hostile.slice(0, 200) },
            quality: { kind: 'quality', verdict: 'passed', summary: hostile, by: hostile.slice(0, 200) },
          },
          artifact: { kind: 'x', name: hostile.slice(0, 600), uri: 'git:x', node: 'n' as NodeId, attempt: 1 },
        }),
        inputs: { why: hostile },
        attempts: Array.from({ length: 20 }, (_, at) => ({ attempt: at, outcome: 'failed', error })),
      },
    ),
  );
  expect(text.match(/^Digest: /gm)).toHaveLength(1);
  expect(text).toContain(`Digest:      ${'ab'.repeat(32)}\n`);
});

test('title and constraints of the shipped gate work for every effect', () => {
  expect(renderTemplate(gate.request.title ?? '', scope())).toBe(
    'Ship it\nDigest: of mine: cap.env.shell.command.run on staging',
  );
  const holds = (of: JsonObject): readonly boolean[] =>
    gate.constraints.map(({ when }) => evaluateCondition(when, of));
  expect(holds(scope())).toEqual([true, true]);
  expect(holds(scope({ kind: 'merge', target: ' ' }))).toEqual([false, false]);
});
