import { approvalIdOf, effectIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { continued, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, test } from 'vitest';
import { resendDelayMs } from '@holdpoint/runtime/decider';
import { EFFECT_NODES, parallelDecider } from '../../testing/parallel.ts';
import {
  applied as appliedFact,
  byHand,
  failedClean,
  NOW,
  recover,
  resolved,
  TASK,
} from '../../testing/tasks.ts';
import type { TaskMessage } from './model/messages.ts';

const [left, right, last] = EFFECT_NODES as [NodeId, NodeId, NodeId];
const given = specFor(parallelDecider);
const approvalOf = (node: NodeId) => approvalIdOf(TASK, node, 1);
const effectOf = (node: NodeId) => effectIdOf(TASK, node, node);

const approved = (node: NodeId): TaskMessage => resolved('approved', { id: approvalOf(node), node });
const rejected = (node: NodeId): TaskMessage => resolved('rejected', { id: approvalOf(node), node });
const about = (node: NodeId): Partial<EffectEvent> => ({ id: effectOf(node), node });
const applied = (node: NodeId): TaskMessage => appliedFact(about(node));
const failed = (node: NodeId): TaskMessage => failedClean(about(node));

const after = (...messages: readonly TaskMessage[]): readonly TaskEvent[] =>
  continued(
    parallelDecider,
    [],
    ...[byHand('resume'), ...messages].map((message) => [message, NOW] as const),
  );

/** The messages after the end of a stuck job: they withdraw its question and inform recovery. */
const settled = (node: NodeId) => [
  { subject: 'hp.cmd.approval.cancel', data: { node } },
  { subject: 'hp.cmd.recovery.job_unstuck', data: { node, resolution: 'retry' } },
];

describe('two effects side by side', () => {
  test('both effects are requested at once', () => {
    given()
      .when(byHand('resume'), NOW)
      .thenEmitsLike(
        { type: 'resumed' },
        { type: 'approval_requested', node: left },
        { type: 'approval_requested', node: right },
      )
      .thenSends({ data: { id: approvalOf(left) } }, { data: { id: approvalOf(right) } });
  });

  test('both effects come before their dependent', () => {
    given(...after(approved(left), approved(right)))
      .when(applied(left), NOW)
      .thenEmitsLike({ type: 'node_succeeded', node: left, phase: 'executing' });
    given(...after(approved(left), approved(right), applied(left)))
      .when(applied(right), NOW)
      .thenEmitsLike(
        { type: 'node_succeeded', node: right },
        { type: 'approval_requested', node: last, phase: 'awaiting_approval' },
      );
  });

  test('one effect runs while the other waits for its approval', () => {
    given(...after())
      .when(approved(left), NOW)
      .thenEmitsLike({ type: 'effect_ordered', node: left });
    given(...after(approved(left)))
      .when(failed(left), NOW)
      .thenEmitsLike({ type: 'node_failed', node: left });
    given(...after(approved(left), failed(left)))
      .when(recover('escalate', { node: left }), NOW)
      .thenEmitsLike(
        { type: 'node_escalated', node: left, phase: 'paused' },
        { type: 'stuck_asked', node: left },
      );
  });

  test('effects are retried one by one, or all escalated ones at once', () => {
    const escalated = after(
      approved(left),
      failed(left),
      recover('escalate', { node: left }),
      approved(right),
      failed(right),
      recover('escalate', { node: right }),
    );
    given(...escalated)
      .when(byHand('retry', { node: right }), NOW)
      .thenEmitsLike(
        { type: 'node_retrying', node: right },
        { type: 'effect_ordered', node: right, phase: 'paused' },
      );
    given(...escalated)
      .when(byHand('retry'), NOW)
      .thenSends(...settled(left), { data: { id: effectOf(left), attempt: 2 } }, ...settled(right), {
        data: { id: effectOf(right), attempt: 2 },
      });
  });
});

describe('the phase of a task with several nodes', () => {
  test.each([
    ['one that waits for a decision, over one that runs', after(approved(left)), 'awaiting_approval'],
    [
      'one that waits for a decision, over one that failed',
      after(approved(left), failed(left)),
      'awaiting_approval',
    ],
    [
      'one that failed, over one that runs',
      after(approved(left), approved(right), failed(left)),
      'recovering',
    ],
    [
      'one that waits for a person, over everything',
      after(approved(left), failed(left), recover('escalate', { node: left })),
      'paused',
    ],
  ])('%s', (_, history, phase) => {
    given(...history)
      .when(byHand('resume'), NOW)
      .thenEmits();
    given(...history)
      .when(byHand('pause'), NOW)
      .thenEmitsLike({ type: 'paused', phase: 'paused' });
    given(...history, ...([{ type: 'paused', id: TASK, phase: 'paused', by: 'a', reason: 'b' }] as const))
      .when(byHand('resume'), NOW)
      .thenEmitsLike({ type: 'resumed', phase });
  });
});

describe('a task that fails', () => {
  test('a failing task withdraws the requests of its other nodes', () => {
    given(...after())
      .when(rejected(left), NOW)
      .thenEmitsLike(
        { type: 'approval_closed' },
        { type: 'node_blocked' },
        { type: 'failed', phase: 'failed' },
      )
      .thenSends({ subject: 'hp.cmd.approval.cancel', data: { id: approvalOf(right) } })
      .thenTimes(
        { clear: `reply:${left}` },
        { clear: `reply:${right}` },
        {
          set: `withdraw:${right}:${approvalOf(right)}`,
          dueAt: NOW + resendDelayMs(1),
          data: { attempt: 1 },
        },
      );
  });

  test('a failing task withdraws the orders of its other nodes', () => {
    given(...after(approved(right)))
      .when(rejected(left), NOW)
      .thenSends({
        subject: 'hp.cmd.effect.cancel.default',
        data: { id: effectOf(right), node: right, attempt: 1 },
      });
  });

  test('a failing task clears the retry timers', () => {
    given(...after(approved(right), failed(right), recover('retry', { node: right, delayMs: 9 })))
      .when(rejected(left), NOW)
      .thenTimes({ clear: `reply:${left}` }, { clear: `retry:${right}` });
    given(...after(approved(right), failed(right)))
      .when(rejected(left), NOW)
      .thenTimes({ clear: `reply:${left}` }, { clear: `reply:${right}` });
  });
});
