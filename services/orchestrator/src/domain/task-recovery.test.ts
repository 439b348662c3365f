import { NodeId } from '@holdpoint/contracts/ids';
import { continued, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import {
  approvalOf,
  byHand,
  EFFECT,
  GRANT,
  histories,
  NODE,
  NOW,
  OPEN,
  recover,
  type Situation,
  TASK,
  TERMINAL,
  timer,
  verdictOf,
} from '../testing/tasks.ts';
import { repeatDelayMs } from './asks.ts';
import { taskDecider } from './decide.ts';

const given = specFor(taskDecider);
const givenTask = (name: Situation) => given(...histories[name]);
const about = { id: TASK, node: NODE } as const;

describe('the verdict', () => {
  test.each(['recovering', 'pausedRecovering'] as const)(
    'retry grants another attempt after its delay (%s)',
    (name) => {
      givenTask(name)
        .when(recover('retry', { delayMs: 2_500 }), NOW)
        .thenEmitsLike({
          type: 'node_retrying',
          ...about,
          attempt: 2,
          delayMs: 2_500,
          verdict: verdictOf('retry', 2_500),
        })
        .thenSends()
        .thenTimes({ clear: `reply:${NODE}` }, { set: `retry:${NODE}`, dueAt: NOW + 2_500 });
    },
  );

  test('skip leaves the node out and goes on with what follows', () => {
    givenTask('recovering')
      .when(recover('skip'), NOW)
      .thenEmitsLike(
        { type: 'node_skipped', ...about, attempt: 1, reason: 'because', phase: 'executing' },
        { type: 'node_succeeded', node: 'done' as never },
        { type: 'completed', phase: 'completed', outputs: {} },
      )
      .thenTimes({ clear: `reply:${NODE}` });
  });

  test('skip in a paused task leaves the node out, and the rest to when it goes on', () => {
    givenTask('pausedRecovering')
      .when(recover('skip'), NOW)
      .thenEmitsLike({ type: 'node_skipped', phase: 'paused' });
  });

  test.each([
    ['escalate', 'because'],
    ['rollback', 'recovery asks for rollback: because'],
    ['continue', 'recovery asks for continue: because'],
  ] as const)('%s asks a person', (kind, reason) => {
    givenTask('recovering')
      .when(recover(kind), NOW)
      .thenEmitsLike({
        type: 'node_escalated',
        ...about,
        attempt: 1,
        reason,
        phase: 'paused',
        verdict: verdictOf(kind),
      })
      .thenTimes({ clear: `reply:${NODE}` });
  });
});

describe('a verdict that is not for this task as it stands', () => {
  test.each([
    ['an earlier attempt', { attempt: 7 }],
    ['a node that did not fail', { node: NodeId.parse('prepare') }],
    ['a node that is not there', { node: NodeId.parse('nowhere') }],
    ['a node with a strange name', { node: NodeId.parse('valueOf') }],
  ])('changes nothing: it is about %s', (_, change) => {
    for (const kind of ['retry', 'skip', 'escalate'] as const)
      givenTask('recovering').when(recover(kind, change), NOW).thenNothing();
  });

  const failed: readonly Situation[] = ['recovering', 'pausedRecovering'];
  test.each([...OPEN.filter((name) => !failed.includes(name)), ...TERMINAL])(
    'changes nothing: the task is %s',
    (name) => {
      for (const kind of ['retry', 'skip', 'rollback'] as const)
        givenTask(name).when(recover(kind), NOW).thenNothing();
    },
  );

  test('changes nothing: the task was never submitted', () => {
    given().when(recover('retry'), NOW).thenNothing();
  });

  test('changes nothing: a retry has begun since', () => {
    const second = continued(taskDecider, histories.retrying, [timer(`retry:${NODE}`), NOW + 1_000]);
    given(...second)
      .when(recover('skip'), NOW + 1_000)
      .thenNothing();
  });
});

describe('a retry that is due', () => {
  const due = timer(`retry:${NODE}`);

  test('orders the next attempt under the grant that still holds', () => {
    givenTask('retrying')
      .when(due, NOW + 1_000)
      .thenEmitsLike({
        type: 'effect_ordered',
        ...about,
        attempt: 2,
        phase: 'executing',
        approval: approvalOf(1),
        ...GRANT,
      })
      .thenSends({ id: `effect.run.${EFFECT}.1.2.0`, data: { attempt: 2, grant: GRANT.grant } })
      .thenTimes({ set: `reply:${NODE}`, dueAt: NOW + 1_000 + repeatDelayMs(1), data: { ask: 1 } });
  });

  test.each([
    [5_001, 'effect_ordered'],
    [5_000, 'approval_requested'],
    [0, 'approval_requested'],
    [-1, 'approval_requested'],
  ])('with %i ms left on its grant leads to: %s', (leftMs, type) => {
    givenTask('retrying')
      .when(due, GRANT.validUntil - leftMs)
      .thenEmitsLike({ type, attempt: 2 });
  });

  test('in a paused task looks again later', () => {
    givenTask('pausedRetrying')
      .when(due, NOW)
      .thenEmits()
      .thenTimes({ set: `retry:${NODE}`, dueAt: NOW + 5_000 });
  });

  test.each([...OPEN.filter((name) => !/retrying/i.test(name)), ...TERMINAL])(
    'after all means nothing to a task that is %s',
    (name) => {
      givenTask(name).when(due, NOW).thenNothing();
    },
  );

  test('is an attempt like any other: it fails like the first', () => {
    const second = continued(taskDecider, histories.retrying, [due, NOW + 1_000], [byHand('pause'), NOW]);
    given(...second)
      .when(byHand('resume'), NOW)
      .thenEmitsLike({ type: 'resumed', phase: 'executing' });
  });
});
