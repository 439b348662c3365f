import { NodeId } from '@holdpoint/contracts/values/ids';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import { resendDelayMs } from '@holdpoint/runtime/decider';
import {
  approvalOf,
  EFFECT,
  GRANT,
  histories,
  NODE,
  NOW,
  OPEN,
  resolved,
  type Situation,
  TASK,
  TERMINAL,
} from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';

const given = specFor(taskDecider);
const givenTask = (name: Situation) => given(...histories[name]);
const closed = {
  type: 'approval_closed',
  id: TASK,
  node: NODE,
  attempt: 1,
  approval: approvalOf(1),
  by: 'grace',
};

describe('an approval of an effect', () => {
  test('an approval orders the effect under its grant', () => {
    givenTask('awaiting')
      .when(resolved('approved'), NOW)
      .thenEmits({
        type: 'effect_ordered',
        id: TASK,
        phase: 'executing',
        node: NODE,
        attempt: 1,
        effectId: EFFECT,
        approval: approvalOf(1),
        ...GRANT,
        granted: { by: 'grace' },
      })
      .thenSends({
        subject: 'hp.cmd.effect.run.default',
        data: { id: EFFECT, attempt: 1, grant: GRANT.grant },
      })
      .thenTimes({ set: `reply:${NODE}`, dueAt: NOW + resendDelayMs(1), data: { attempt: 1 } });
  });

  test('an approval of a paused task is kept until it is resumed', () => {
    givenTask('pausedAwaiting')
      .when(resolved('approved'), NOW)
      .thenEmitsLike({ ...closed, phase: 'paused', outcome: 'approved', ...GRANT })
      .thenSends()
      .thenTimes({ clear: `reply:${NODE}` });
  });
});

describe('a refused effect', () => {
  test.each([
    ['rejected', undefined, 'rejected by grace'],
    ['rejected', 'not on a Friday', 'rejected by grace: not on a Friday'],
    ['cancelled', 'withdrawn', 'cancelled by grace: withdrawn'],
  ] as const)('a refusal (%s, %s) fails the task as forbidden', (outcome, comment, message) => {
    const error = { code: 'ERR_FORBIDDEN', message };
    givenTask('awaiting')
      .when(resolved(outcome, { comment }), NOW)
      .thenEmitsLike(
        { ...closed, phase: 'awaiting_approval', outcome },
        { type: 'node_blocked', phase: 'executing', node: NODE, attempt: 1, error },
        { type: 'failed', phase: 'failed', error: { ...error, details: { node: NODE } } },
      )
      .thenSends()
      .thenTimes({ clear: `reply:${NODE}` });
  });

  test.each([
    ['policy', 'APPROVALS_ARGUMENTS_INVALID: cents: is missing', 'APPROVALS_ARGUMENTS_INVALID'],
    ['policy', 'no code of ours', 'ERR_FORBIDDEN'],
    ['web', 'APPROVALS_ARGUMENTS_INVALID: says a person', 'ERR_FORBIDDEN'],
  ] as const)('a rejection by %s (%s) fails the task with the code %s', (surface, comment, code) => {
    const error = { code, message: `rejected by grace: ${comment}` };
    givenTask('awaiting')
      .when(resolved('rejected', { surface, comment }), NOW)
      .thenEmitsLike(
        { ...closed, phase: 'awaiting_approval', outcome: 'rejected' },
        { type: 'node_blocked', phase: 'executing', node: NODE, attempt: 1, error },
        { type: 'failed', phase: 'failed', error: { ...error, details: { node: NODE } } },
      )
      .thenSends()
      .thenTimes({ clear: `reply:${NODE}` });
  });

  test.each([
    [undefined, 'expired: no decision before the deadline'],
    ['no decision within 7 days', 'expired: no decision within 7 days'],
  ])(
    'an expired request (%s) hands the job to an operator, and the task does not fail',
    (comment, reason) => {
      givenTask('awaiting')
        .when(resolved('expired', { by: 'expiry', surface: 'clock', comment }), NOW)
        .thenEmitsLike(
          { ...closed, phase: 'awaiting_approval', outcome: 'expired', by: 'expiry' },
          { type: 'node_failed', phase: 'recovering', node: NODE, attempt: 1, paused: reason },
        );
    },
  );

  test('a refusal of a paused task counts when it is resumed', () => {
    givenTask('pausedAwaiting')
      .when(resolved('rejected'), NOW)
      .thenEmitsLike({ ...closed, phase: 'paused' }, { type: 'node_blocked', phase: 'paused' });
  });

  test.each([
    [undefined, 'changes requested by grace: no comment'],
    ['another file', 'changes requested by grace: another file'],
  ])('requested changes (%s) go to recovery, which hands the job to an operator', (comment, reason) => {
    givenTask('awaiting')
      .when(resolved('changes_requested', { comment }), NOW)
      .thenEmitsLike(
        { ...closed, phase: 'awaiting_approval', outcome: 'changes_requested' },
        { type: 'node_failed', phase: 'recovering', node: NODE, attempt: 1, paused: reason },
      );
  });
});

describe('a decision that does not fit the task', () => {
  const waiting: readonly Situation[] = ['awaiting', 'pausedAwaiting'];

  test.each([...OPEN.filter((name) => !waiting.includes(name)), ...TERMINAL])(
    'a decision changes nothing when the task is %s',
    (name) => {
      for (const outcome of ['approved', 'rejected'] as const)
        givenTask(name).when(resolved(outcome), NOW).thenEmits().thenSends();
    },
  );

  test.each([
    ['another request', { id: approvalOf(2) }],
    ['a node without a gate', { node: NodeId.parse('prepare') }],
    ['a node that is not there', { node: NodeId.parse('nowhere') }],
    ['a node with a strange name', { node: NodeId.parse('constructor') }],
  ])('a decision changes nothing when it is for %s', (_, change) => {
    givenTask('awaiting').when(resolved('approved', change), NOW).thenNothing();
    givenTask('awaiting').when(resolved('rejected', change), NOW).thenNothing();
  });

  test('a decision changes nothing for an unknown task', () => {
    given().when(resolved('approved'), NOW).thenNothing();
  });
});
