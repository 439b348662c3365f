import { effectDigest, type CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { continued, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import {
  approvalOf,
  byHand,
  EFFECT,
  histories,
  NODE,
  NOW,
  OPERATOR,
  submission,
  submit,
  TASK,
} from '../../testing/tasks.ts';
import { requestApproval } from './outgoing/approval-requests.ts';
import { taskDecider } from './decide.ts';
import type { Submission } from './model/messages.ts';
import type { Task } from './model/state.ts';

const given = specFor(taskDecider);

const effect: CanonicalEffect = {
  task: TASK,
  node: NODE,
  uses: 'cap.file.append',
  args: { file: 'sample.txt', line: 'say hello' },
  kind: 'write_external',
  effectClass: 'keyed',
  target: 'file:sample.txt',
  idempotencyKey: 'append:sample.txt',
};
const digest = effectDigest(effect);

describe('a submission on behalf of another task', () => {
  const behalf = { task: 't-parent' as typeof TASK, node: NODE, attempt: 2 };
  const reviews = { spec: { kind: 'spec', verdict: 'passed', summary: 'fine', by: 'grace' } } as const;
  const message = { ...submit({ ...submission, onBehalfOf: behalf }), sender: OPERATOR } as Submission;

  test('only a request submits on behalf of another task, which is looked up', () => {
    given().when(message, NOW).thenAnswersError('ERR_FORBIDDEN').thenEmits();
    given()
      .when({ ...message, origin: { reviews } }, NOW)
      .thenEmitsLike(
        { type: 'submitted', onBehalfOf: behalf, evidence: { reviews } },
        { type: 'ready' },
        { type: 'node_succeeded' },
        { type: 'approval_requested', evidence: { reviews } },
      );
  });

  test('only services pass on reviews, and later reviews make a repeat no other submission', () => {
    const claimed = { ...message, payload: { ...message.payload, evidence: { reviews } } };
    given().when(claimed, NOW).thenAnswersError('ERR_FORBIDDEN').thenEmits();
    const service = { ...claimed, sender: { kind: 'service' } } as const;
    const first = continued(taskDecider, [], [service, NOW]);
    given(...first)
      .when({ ...service, payload: { ...service.payload, evidence: {} } }, NOW)
      .thenEmits()
      .thenAnswers({ id: TASK });
  });
});

describe('a submission', () => {
  test('a submission advances to its first gate at once', () => {
    given()
      .when(submit(), NOW)
      .thenEmitsLike(
        {
          type: 'submitted',
          id: TASK,
          phase: 'queued',
          goal: 'say hello',
          requestedBy: 'linus',
          acceptanceCriteria: [],
          inputs: {},
        },
        { type: 'ready', id: TASK, phase: 'execution_ready' },
        { type: 'node_succeeded', node: 'prepare', attempt: 1, phase: 'executing' },
        {
          type: 'approval_requested',
          phase: 'awaiting_approval',
          node: NODE,
          attempt: 1,
          revision: 1,
          approval: approvalOf(1),
          effectId: EFFECT,
          effect,
          digest,
        },
      )
      .thenTimes({
        set: `reply:${NODE}`,
        dueAt: NOW + 20_000,
        dueIfDecided: NOW + 21_600_000,
        data: { attempt: 1 },
      })
      .thenAnswers({ id: TASK, phase: 'awaiting_approval', version: 4 });
  });

  test('the request covers exactly this effect', () => {
    given()
      .when(submit(), NOW)
      .thenSends({
        subject: 'hp.cmd.approval.request',
        id: `approval.request.${approvalOf(1)}.0`,
        type: 'dev.holdpoint.approval.request.v1',
        data: {
          id: approvalOf(1),
          task: TASK,
          node: NODE,
          revision: 1,
          effectId: EFFECT,
          effect,
          digest,
          requestedBy: 'linus',
          audience: ['operators'],
          timeoutMs: 604_800_000,
        },
      });
  });

  test('a submission without a requester says so', () => {
    given()
      .when(submit({ workflow: 'sample', goal: 'say hello' }), NOW)
      .thenSends({ data: { requestedBy: 'unverified:unknown' } });
  });

  test('the effect takes its arguments from the inputs', () => {
    given()
      .when(submit({ ...submission, inputs: { file: 'other.txt', line: 'bye' } }), NOW)
      .thenSends({
        data: { effect: { args: { file: 'other.txt', line: 'bye' }, target: 'file:other.txt' } },
      });
  });

  test.each(['sample', 'sample@1'])('a submission finds its workflow as %s', (workflow) => {
    given()
      .when(submit({ ...submission, workflow }), NOW)
      .thenAnswers({ phase: 'awaiting_approval' });
  });

  test.each(['nothing', 'sample@2', 'sample@', 'sample@1@1', '@1', ''])(
    'an unknown workflow %j is refused',
    (workflow) => {
      given()
        .when(submit({ ...submission, workflow }), NOW)
        .thenRefuses('ORCHESTRATOR_UNKNOWN_WORKFLOW');
    },
  );

  test('inputs that make an invalid workflow are refused before anything is recorded', () => {
    given()
      .when(submit({ ...submission, inputs: { file: 'x'.repeat(600) } }), NOW)
      .thenRefuses('CONTRACT_INVALID');
  });
});

describe('a repeated submission', () => {
  test.each(Object.entries(histories))(
    'a repeat is answered with the current state of the task: %s',
    (_, history) => {
      given(...history)
        .when(submit(), NOW + 1)
        .thenNothing()
        .thenAnswers({ id: TASK, version: history.length, phase: history.at(-1)?.phase });
    },
  );

  test.each([
    ['another goal', { ...submission, goal: 'say bye' }],
    ['another workflow', { ...submission, workflow: 'sample@1' }],
    ['other criteria', { ...submission, acceptanceCriteria: ['it is there'] }],
    ['other inputs', { ...submission, inputs: { file: 'x.txt' } }],
    ['another name', { ...submission, requestedBy: 'mallory' }],
    ['an unknown workflow', { ...submission, workflow: 'nothing' }],
  ])('a repeat with %s is refused', (_, other) => {
    given(...histories.awaiting)
      .when(submit(other), NOW + 1)
      .thenRefuses('ORCHESTRATOR_TASK_CONFLICT');
  });

  test('a repeat with explicit defaults is the same submission', () => {
    given(...histories.awaiting)
      .when(submit({ ...submission, acceptanceCriteria: [], inputs: {} }), NOW + 1)
      .thenNothing();
  });
});

test.each(['cancel', 'pause', 'resume', 'retry'] as const)('%s of an unknown task is refused', (verb) => {
  given().when(byHand(verb), NOW).thenRefuses('ORCHESTRATOR_UNKNOWN_TASK');
});

test('a request shows the start of a long goal and target without half characters', () => {
  const goal = `${'a'.repeat(199)}😀${'b'.repeat(300)}`;
  const file = `${'c'.repeat(194)}😀.txt`;
  const events = taskDecider.decide(taskDecider.initial, submit({ ...submission, goal, inputs: { file } }), {
    now: NOW,
  }).events;
  const task = events.reduce((state, event) => taskDecider.evolve(state, event), taskDecider.initial) as Task;
  const { title } = requestApproval(task, NODE, 0).data as { title: string };
  expect(title.length).toBeLessThanOrEqual(500);
  expect(title).toContain('a'.repeat(199));
  expect(title.isWellFormed()).toBe(true);
});
