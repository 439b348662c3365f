import { NodeId, stuckIdOf } from '@holdpoint/contracts/values/ids';
import { continued, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { resendDelayMs } from '@holdpoint/runtime/decider';
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
} from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';

const given = specFor(taskDecider);
const givenTask = (name: Situation) => given(...histories[name]);
const about = { id: TASK, node: NODE } as const;
const job = { task: TASK, node: NODE, attempt: 1 } as const;
const STUCK = stuckIdOf(TASK, NODE, 1);

describe('a verdict', () => {
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

  test.each(['skip', 'escalate'] as const)('%s makes the job stuck and asks people', (kind) => {
    givenTask('recovering')
      .when(recover(kind), NOW)
      .thenEmitsLike(
        {
          type: 'node_escalated',
          ...about,
          attempt: 1,
          reason: 'because',
          phase: 'paused',
          verdict: verdictOf(kind),
        },
        { type: 'stuck_asked', ...about, attempt: 1, question: 1, approval: STUCK },
      )
      .thenSends({
        subject: 'hp.cmd.approval.request',
        id: `approval.request.${STUCK}.0`,
        data: { id: STUCK, stuck: { class: 'UNKNOWN', reason: 'because' }, body: 'because' },
      })
      .thenTimes(
        { clear: `reply:${NODE}` },
        {
          set: `reply:${NODE}`,
          dueAt: NOW + resendDelayMs(1),
          dueIfDecided: NOW + 21_600_000,
          data: { attempt: 1 },
        },
      );
  });

  test('rollback without a repository is refused, so recovery gives the job up', () => {
    givenTask('recovering')
      .when(recover('rollback'), NOW)
      .thenEmitsLike({ type: 'checkpoint', kind: 'suggestion_refused', name: 'verdict' })
      .thenSends({
        subject: 'hp.cmd.recovery.assess',
        data: { ...job, refused: 'a rollback is impossible here: no repository or no commit' },
      });
  });

  test('continue grants another attempt with a hand-off', () => {
    givenTask('recovering')
      .when(recover('continue'), NOW)
      .thenEmitsLike(
        { type: 'handoff_ordered', attempt: 1 },
        { type: 'node_retrying', attempt: 2, hint: expect.stringContaining('## Hand-off') as string },
      );
  });
});

describe('a verdict that does not fit the task', () => {
  test.each([
    ['an earlier attempt', { attempt: 7 }],
    ['a node that did not fail', { node: NodeId.parse('prepare') }],
    ['a node that is not there', { node: NodeId.parse('nowhere') }],
    ['a node with a strange name', { node: NodeId.parse('valueOf') }],
  ])('a verdict about %s changes nothing', (_, change) => {
    givenTask('recovering').when(recover('retry', change), NOW).thenNothing();
    for (const kind of ['skip', 'escalate'] as const)
      givenTask('recovering')
        .when(recover(kind, change), NOW)
        .thenEmits()
        .thenTimes()
        .thenSends({ subject: 'hp.cmd.recovery.job_unstuck', data: { resolution: 'ended' } });
  });

  const failed: readonly Situation[] = ['recovering', 'pausedRecovering'];
  test.each([...OPEN.filter((name) => !failed.includes(name)), ...TERMINAL])(
    'a verdict changes nothing when the task is %s',
    (name) => {
      for (const kind of ['retry', 'continue', 'rollback'] as const)
        givenTask(name).when(recover(kind), NOW).thenNothing();
    },
  );

  const stuck: readonly Situation[] = ['escalated', 'pausedEscalated', 'changesRequested'];
  test.each([...OPEN.filter((name) => ![...failed, ...stuck].includes(name)), ...TERMINAL])(
    'a late verdict that gives up is answered with job_unstuck when the task is %s',
    (name) => {
      givenTask(name)
        .when(recover('skip'), NOW)
        .thenEmits()
        .thenTimes()
        .thenSends({ subject: 'hp.cmd.recovery.job_unstuck', data: { ...job, resolution: 'ended' } });
    },
  );

  test.each(stuck)('a repeated verdict for a stuck job changes nothing when the task is %s', (name) => {
    givenTask(name).when(recover('escalate'), NOW).thenNothing();
  });

  test('a verdict changes nothing for an unknown task', () => {
    given().when(recover('retry'), NOW).thenNothing();
    given()
      .when(recover('skip'), NOW)
      .thenEmits()
      .thenSends({ subject: 'hp.cmd.recovery.job_unstuck', data: { ...job, resolution: 'ended' } });
  });

  test('a verdict changes nothing once a retry has begun', () => {
    const second = continued(taskDecider, histories.retrying, [timer(`retry:${NODE}`), NOW + 1_000]);
    given(...second)
      .when(recover('continue'), NOW + 1_000)
      .thenNothing();
  });
});

describe('a retry that falls due', () => {
  const due = timer(`retry:${NODE}`);

  test('a due retry orders the next attempt under a valid grant', () => {
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
      .thenTimes({ set: `reply:${NODE}`, dueAt: NOW + 1_000 + resendDelayMs(1), data: { attempt: 1 } });
  });

  test.each([
    [5_001, 'effect_ordered'],
    [5_000, 'approval_requested'],
    [0, 'approval_requested'],
    [-1, 'approval_requested'],
  ])('a due retry with %i ms left on its grant leads to: %s', (leftMs, type) => {
    givenTask('retrying')
      .when(due, GRANT.validUntil - leftMs)
      .thenEmitsLike({ type, attempt: 2 });
  });

  test('a due retry in a paused task waits', () => {
    givenTask('pausedRetrying')
      .when(due, NOW)
      .thenEmits()
      .thenTimes({ set: `retry:${NODE}`, dueAt: NOW + 5_000 });
  });

  test.each([...OPEN.filter((name) => !/retrying/i.test(name)), ...TERMINAL])(
    'a due retry changes nothing in a task that is %s',
    (name) => {
      givenTask(name).when(due, NOW).thenNothing();
    },
  );

  test('a retried attempt fails like the first', () => {
    const second = continued(taskDecider, histories.retrying, [due, NOW + 1_000], [byHand('pause'), NOW]);
    given(...second)
      .when(byHand('resume'), NOW)
      .thenEmitsLike({ type: 'resumed', phase: 'executing' });
  });
});
