import { approvalIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { continued, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import { resendDelayMs } from '@holdpoint/runtime/decider';
import { EFFECT_NODES, parallelDecider } from '../../testing/parallel.ts';
import {
  applied,
  approvalOf,
  byHand,
  EFFECT,
  failedClean,
  histories,
  NODE,
  NOW,
  recover,
  refused,
  reported,
  resolved,
  type Situation,
  TASK,
  TERMINAL,
  timer,
} from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';

const given = specFor(taskDecider);
const givenParallel = specFor(parallelDecider);
const givenTask = (name: Situation) => given(...histories[name]);
const due = (of: string, attempt: number) => timer(`withdraw:${NODE}:${of}`, { attempt });
const confirmed = (of: string) => ({ clear: `withdraw:${NODE}:${of}` });
const inDoubt = (next: 'repeat' | 'person') => reported({ type: 'in_doubt', epoch: 2, reason: 'lost', next });

/** The effect was applied before the second request, which is withdrawn. */
const happened = continued(taskDecider, histories.awaitingAnew, [applied(), NOW]);

const withdrawals: readonly (readonly [
  what: string,
  history: readonly TaskEvent[],
  subject: string,
  id: string,
  data: Readonly<Record<string, unknown>> & { readonly id: string },
])[] = [
  [
    'a request of a task that was cancelled',
    histories.cancelled,
    'hp.cmd.approval.cancel',
    `approval.cancel.${approvalOf(1)}`,
    { id: approvalOf(1), task: TASK, node: NODE, revision: 1, reason: 'cancelled by hand' },
  ],
  [
    'an order of a task that was cancelled',
    histories.cancelledRunning,
    'hp.cmd.effect.cancel.default',
    `effect.cancel.${EFFECT}.1`,
    { id: EFFECT, task: TASK, node: NODE, attempt: 1, reason: 'cancelled by hand' },
  ],
  [
    'a request for what turned out to have happened',
    happened,
    'hp.cmd.approval.cancel',
    `approval.cancel.${approvalOf(2)}`,
    { id: approvalOf(2), task: TASK, node: NODE, revision: 2, reason: 'the effect was applied' },
  ],
];

describe('an unconfirmed withdrawal', () => {
  test.each(withdrawals)(
    'the withdrawal of %s is sent again with a new message id',
    (_, history, subject, id, data) => {
      for (const attempt of [1, 2, 9]) {
        given(...history)
          .when(due(data.id, attempt), NOW)
          .thenEmits()
          .thenSends({ subject, id: `${id}.${String(attempt)}`, data })
          .thenTimes({
            set: `withdraw:${NODE}:${data.id}`,
            dueAt: NOW + resendDelayMs(attempt + 1),
            data: { attempt: attempt + 1 },
          });
      }
    },
  );

  test.each(['cancelledEscalated', 'completed', 'failed'] as const)(
    'there is no withdrawal in a task that is %s',
    (name) => {
      for (const of of [approvalOf(1), EFFECT]) givenTask(name).when(due(of, 1), NOW).thenNothing();
    },
  );
});

describe('a withdrawn request', () => {
  test.each(['approved', 'rejected', 'changes_requested', 'expired', 'cancelled'] as const)(
    'the withdrawal ends when the request is %s',
    (outcome) => {
      givenTask('cancelled')
        .when(resolved(outcome), NOW)
        .thenEmits()
        .thenSends()
        .thenTimes(confirmed(approvalOf(1)));
    },
  );

  test.each([
    ['another request', { id: approvalOf(2) }],
    ['another node', { node: 'prepare' as NodeId }],
    ['a node that is not there', { node: 'nowhere' as NodeId }],
  ])('the withdrawal does not end with %s', (_, change) => {
    givenTask('cancelled').when(resolved('cancelled', change), NOW).thenNothing();
  });
});

describe('a withdrawn order', () => {
  test.each([
    ['it was cancelled', reported({ type: 'cancelled', reason: 'by hand' })],
    ['it was applied all the same', applied()],
    ['it is left in doubt to a person', inDoubt('person')],
  ])('the withdrawal ends: %s', (_, message) => {
    givenTask('cancelledRunning').when(message, NOW).thenEmits().thenSends().thenTimes(confirmed(EFFECT));
  });

  test.each([
    ['it may be repeated', inDoubt('repeat')],
    ['it runs', reported({ type: 'started', epoch: 1, worker: 'w' })],
    ['it was told to stop', reported({ type: 'cancel_requested', reason: 'by hand' })],
    ['a later order of it could still be carried out', failedClean()],
    ['another order of it could still be carried out', refused('EXECUTOR_GRANT_EXPIRED')],
    ['it is another effect', applied({ id: 'e-other' as never })],
  ])('the withdrawal does not end: %s', (_, message) => {
    givenTask('cancelledRunning').when(message, NOW).thenNothing();
  });
});

describe('a withdrawal in an open task', () => {
  const [left] = EFFECT_NODES as [NodeId];
  const first = { id: approvalIdOf(TASK, left, 1), node: left };
  const anew = { id: approvalIdOf(TASK, left, 2), node: left };

  test('the request is withdrawn when its effect was applied, until that is confirmed', () => {
    const history = continued(
      parallelDecider,
      [],
      [byHand('resume'), NOW],
      [resolved('approved', { ...first, validUntil: NOW + 6_000 }), NOW],
    );
    const ordered = history.flatMap((event) => (event.type === 'effect_ordered' ? [event.effectId] : []))[0];
    if (ordered === undefined) throw new Error('nothing was ordered');
    const about = { id: ordered, node: left };
    const asked = continued(
      parallelDecider,
      history,
      [failedClean(about), NOW],
      [recover('retry', { node: left }), NOW],
      [timer(`retry:${left}`), NOW + 6_000],
    );
    const done = continued(parallelDecider, asked, [applied(about), NOW]);
    givenParallel(...asked)
      .when(applied(about), NOW)
      .thenEmitsLike({ type: 'node_succeeded', node: left, phase: 'awaiting_approval' })
      .thenSends({ subject: 'hp.cmd.approval.cancel', data: { id: anew.id } });
    givenParallel(...done)
      .when(timer(`withdraw:${left}:${anew.id}`, { attempt: 1 }), NOW)
      .thenSends({ id: `approval.cancel.${anew.id}.1` });
    givenParallel(...done)
      .when(resolved('cancelled', anew), NOW)
      .thenEmits()
      .thenTimes({ clear: `withdraw:${left}:${anew.id}` });
    givenParallel(...done)
      .when(resolved('approved', anew), NOW)
      .thenEmits()
      .thenSends();
  });
});

test('a node without requests has no withdrawals', () => {
  for (const name of TERMINAL)
    for (const of of [approvalOf(1), EFFECT])
      givenTask(name)
        .when(timer(`withdraw:prepare:${of}`, { attempt: 1 }), NOW)
        .thenNothing();
});
