import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { effectIdOf, NodeId } from '@holdpoint/contracts/values/ids';
import { continued, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import { resendDelayMs } from '@holdpoint/runtime/decider';
import {
  applied,
  approvalOf,
  byHand,
  failedClean,
  GRANT,
  histories,
  NODE,
  NOW,
  OPEN,
  refused,
  reported,
  resolved,
  type Situation,
  TASK,
  TERMINAL,
} from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';

const given = specFor(taskDecider);
const givenTask = (name: Situation) => given(...histories[name]);
const inDoubt = (next: 'repeat' | 'person') => reported({ type: 'in_doubt', epoch: 2, reason: 'lost', next });
const cancelled = reported({ type: 'cancelled', reason: 'by the executor' });
const outputs = { line: 1 };

describe('an applied effect', () => {
  const succeeded = { type: 'node_succeeded', node: NODE, attempt: 1, outputs };

  test('an applied effect completes the task', () => {
    givenTask('running')
      .when(applied(), NOW)
      .thenEmitsLike(
        { ...succeeded, phase: 'executing' },
        { type: 'node_succeeded', node: 'done' as never },
        { type: 'completed', phase: 'completed', outputs: { append: outputs } },
      )
      .thenSends()
      .thenTimes({ clear: `reply:${NODE}` });
  });

  test.each(['recovering', 'retrying', 'escalated'] as const)(
    'an applied effect completes even a task that is %s',
    (name) => {
      givenTask(name)
        .when(applied(), NOW)
        .thenEmitsLike(
          { type: 'node_succeeded' },
          { type: 'node_succeeded', node: 'done' as never },
          { type: 'completed', phase: 'completed' },
        );
    },
  );

  test('an applied effect completes a task with another open request, which is withdrawn', () => {
    givenTask('awaitingAnew')
      .when(applied(), NOW)
      .thenEmitsLike(
        { ...succeeded, phase: 'executing' },
        { type: 'node_succeeded', node: 'done' as never },
        { type: 'completed', phase: 'completed', outputs: { append: outputs } },
      )
      .thenSends({
        subject: 'hp.cmd.approval.cancel',
        id: `approval.cancel.${approvalOf(2)}.0`,
        data: { id: approvalOf(2), task: TASK, node: NODE, revision: 2, reason: 'the effect was applied' },
      })
      .thenTimes(
        { clear: `reply:${NODE}` },
        { set: `withdraw:${NODE}:${approvalOf(2)}`, dueAt: NOW + resendDelayMs(1), data: { attempt: 1 } },
      );
  });

  test('an applied effect is kept by a paused task with another approval', () => {
    const approved = continued(
      taskDecider,
      histories.awaitingAnew,
      [byHand('pause'), NOW],
      [resolved('approved', { id: approvalOf(2), revision: 2 }), NOW],
    );
    given(...approved)
      .when(applied(), NOW)
      .thenEmitsLike({ type: 'node_succeeded', phase: 'paused' })
      .thenSends();
  });

  test('an applied effect counts from any attempt', () => {
    givenTask('running')
      .when(applied({ attempt: 7 }), NOW)
      .thenEmitsLike(succeeded, { type: 'node_succeeded', node: 'done' as never }, { type: 'completed' });
  });

  test.each(['pausedRunning', 'pausedRecovering', 'pausedRetrying', 'pausedEscalated'] as const)(
    'an applied effect is kept by a task that is %s, which does not continue',
    (name) => {
      givenTask(name).when(applied(), NOW).thenEmitsLike({ type: 'node_succeeded', phase: 'paused' });
    },
  );
});

describe('an effect that was not applied', () => {
  test.each([
    ['failed cleanly', failedClean(), 'failed', 'EXECUTOR_TARGET_UNAVAILABLE'],
    ['was cancelled', cancelled, 'failed', 'EXECUTOR_CANCELLED'],
    ['was refused', refused('EXECUTOR_GRANT_INVALID'), 'failed', 'EXECUTOR_GRANT_INVALID'],
    ['is in doubt until a person looks', inDoubt('person'), 'in_doubt', 'EXECUTOR_OUTCOME_UNKNOWN'],
  ] as const)('an effect that %s requests a verdict', (_, message, outcome, code) => {
    givenTask('running')
      .when(message, NOW)
      .thenEmitsLike({
        type: 'node_failed',
        phase: 'recovering',
        node: NODE,
        attempt: 1,
        outcome,
        error: { code },
      })
      .thenSends({
        subject: 'hp.cmd.recovery.assess',
        id: `recovery.assess.${TASK}.${NODE}.1.0`,
        data: { task: TASK, node: NODE, attempt: 1, outcome, effectClass: 'keyed', error: { code } },
      })
      .thenTimes({ set: `reply:${NODE}`, dueAt: NOW + resendDelayMs(1), data: { attempt: 1 } });
  });

  test('a refusal of another order under the same key changes nothing', () => {
    const ours = refused('EXECUTOR_DIGEST_MISMATCH');
    if (ours.kind !== 'effect' || ours.event.type !== 'refused') throw new Error('not what it is for');
    const { order } = ours.event;
    const theirs = { ...order.effect, args: { file: 'other.txt', line: 'other' } };
    for (const change of [{ effect: theirs }, { effect: theirs, digest: effectDigest(theirs) }]) {
      const event = { ...ours.event, order: { ...order, ...change } };
      givenTask('running').when({ kind: 'effect', event }, NOW).thenNothing();
    }
  });

  test('a failure during a pause requests a verdict', () => {
    givenTask('pausedRunning')
      .when(failedClean(), NOW)
      .thenEmitsLike({ type: 'node_failed', phase: 'paused' });
  });

  test('an expired grant requests approval again in the same attempt', () => {
    givenTask('running')
      .when(refused('EXECUTOR_GRANT_EXPIRED'), NOW)
      .thenEmitsLike({
        type: 'approval_requested',
        phase: 'awaiting_approval',
        node: NODE,
        attempt: 1,
        revision: 2,
        approval: approvalOf(2),
      })
      .thenSends({
        subject: 'hp.cmd.approval.request',
        id: `approval.request.${approvalOf(2)}.0`,
        data: { id: approvalOf(2), revision: 2 },
      })
      .thenTimes({
        set: `reply:${NODE}`,
        dueAt: NOW + resendDelayMs(1),
        dueIfDecided: NOW + 21_600_000,
        data: { attempt: 1 },
      });
  });

  test('another order under a new grant has a new message id', () => {
    const again = continued(taskDecider, histories.running, [refused('EXECUTOR_GRANT_EXPIRED'), NOW]);
    const idOf = (revision: number) => ({
      data: { attempt: 1 },
      id: `effect.run.${effectIdOf(TASK, NODE, 'append:sample.txt')}.${String(revision)}.1.0`,
    });
    givenTask('awaiting').when(resolved('approved'), NOW).thenSends(idOf(1));
    given(...again)
      .when(resolved('approved', { id: approvalOf(2), revision: 2, grant: 'second' }), NOW)
      .thenEmitsLike({ type: 'effect_ordered', attempt: 1, approval: approvalOf(2), grant: 'second' })
      .thenSends(idOf(2));
  });
});

describe('an event without an outcome', () => {
  test.each([
    ['the executor will repeat it', inDoubt('repeat')],
    ['it waits for a place', reported({ type: 'prepared' })],
    ['it has started', reported({ type: 'started', epoch: 1, worker: 'w' })],
    ['a worker came too late', reported({ type: 'superseded', epoch: 1, observed: 'applied' })],
  ])('%s changes nothing', (_, message) => {
    givenTask('running').when(message, NOW).thenNothing();
  });
});

describe('an effect event that does not fit the task', () => {
  test.each([
    ['another attempt', { attempt: 2 }],
    ['another effect', { id: effectIdOf(TASK, NODE, 'other') }],
    ['a node without a gate', { node: NodeId.parse('prepare') }],
    ['a node that is not there', { node: NodeId.parse('nowhere') }],
    ['a node with a strange name', { node: NodeId.parse('toString') }],
  ])('an event about %s changes nothing', (_, change) => {
    givenTask('running').when(failedClean(change), NOW).thenNothing();
  });

  test.each([
    ['another effect', { id: effectIdOf(TASK, NODE, 'other') }],
    ['a node that is not there', { node: NodeId.parse('nowhere') }],
  ])('even an applied effect changes nothing when it is about %s', (_, change) => {
    givenTask('running').when(applied(change), NOW).thenNothing();
  });

  const running: readonly Situation[] = ['running', 'pausedRunning'];
  test.each(OPEN.filter((name) => !running.includes(name)))(
    'an event changes nothing when the task is %s',
    (name) => {
      for (const message of [
        failedClean(),
        cancelled,
        refused('EXECUTOR_GRANT_EXPIRED'),
        inDoubt('person'),
      ]) {
        givenTask(name).when(message, NOW).thenNothing();
      }
    },
  );

  test.each(TERMINAL)('no event changes anything when the task is %s', (name) => {
    for (const message of [applied(), failedClean(), refused('EXECUTOR_GRANT_EXPIRED'), inDoubt('person')]) {
      givenTask(name).when(message, NOW).thenEmits().thenSends();
    }
  });

  test('a late refusal of the first order, whose grant had expired, changes nothing', () => {
    const again = continued(taskDecider, histories.awaitingAnew, [
      resolved('approved', { id: approvalOf(2), revision: 2, grant: 'second' }),
      NOW,
    ]);
    for (const code of ['EXECUTOR_GRANT_EXPIRED', 'EXECUTOR_GRANT_INVALID'])
      given(...again)
        .when(refused(code), NOW)
        .thenNothing();
    given(...again)
      .when(refused('EXECUTOR_GRANT_EXPIRED', {}, 'second'), NOW)
      .thenEmitsLike({ type: 'approval_requested', revision: 3 });
  });

  test.each(['awaiting', 'pausedAwaiting', 'pausedApproved', 'changesRequested'] as const)(
    'an applied effect without an order changes nothing in a task that is %s',
    (name) => {
      givenTask(name).when(applied(), NOW).thenNothing();
    },
  );

  test('an event changes nothing for an unknown task', () => {
    given().when(applied(), NOW).thenNothing();
  });

  test('an outcome of the previous attempt changes nothing during a retry', () => {
    const second = continued(taskDecider, histories.escalated, [byHand('retry'), NOW]);
    given(...second)
      .when(failedClean({ attempt: 1 }), GRANT.validUntil)
      .thenNothing();
    given(...second)
      .when(failedClean({ attempt: 2 }), NOW)
      .thenEmitsLike({ type: 'node_failed', attempt: 2 });
  });
});
