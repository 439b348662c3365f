import type { ApprovalResolved } from '@holdpoint/contracts/approval/events';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { doubtIdOf, NodeId } from '@holdpoint/contracts/values/ids';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { WAIT_MAX_MS } from '@holdpoint/contracts/workflow/workflow';
import { continued, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
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
  reported,
  resolved,
  TASK,
  timer,
} from '../../testing/tasks.ts';
import { taskView } from '../queries/task-view.ts';
import { taskDecider } from './decide.ts';
import type { TaskMessage } from './model/messages.ts';

const given = specFor(taskDecider);
const after = (history: readonly TaskEvent[], ...messages: readonly TaskMessage[]): readonly TaskEvent[] =>
  continued(taskDecider, history, ...messages.map((message) => [message, NOW] as const));
const viewOf = (history: readonly TaskEvent[]) => {
  const state = history.reduce((before, event) => taskDecider.evolve(before, event), taskDecider.initial);
  if (state.phase === 'absent') throw new Error('there is no task');
  return taskView(state);
};

const EPOCH = 2;
const QUESTION = doubtIdOf(EFFECT, EPOCH);
const inDoubt = (epoch = EPOCH, next: 'person' | 'repeat' | 'probe' = 'person'): TaskMessage =>
  reported({ type: 'in_doubt', epoch, reason: 'the worker was lost', next, cause: 'worker_lost' });
const answered = (answer: InDoubtAnswer, change: Partial<ApprovalResolved> = {}): TaskMessage =>
  resolved('answered', { id: QUESTION, answer, statement: `says ${answer}`, ...change });
const notApplied = (by: 'person' | 'probe', epoch = EPOCH): TaskMessage =>
  reported({ type: 'not_applied', epoch, reason: 'grace said so', by });

const doubtful = after(histories.running, inDoubt());
const asked = after(doubtful, recover('escalate'));
const about = { id: TASK, node: NODE, attempt: 1 } as const;
const reply = `reply:${NODE}`;
/** Recovery had given the job up and hears of its end. */
const settled = (how: string) => ({ subject: 'hp.cmd.recovery.job_unstuck', data: { resolution: how } });

describe('an effect in doubt', () => {
  test('the question opens once recovery gives the effect up', () => {
    given(...doubtful)
      .when(recover('escalate'), NOW)
      .thenEmitsLike(
        { type: 'node_escalated', ...about, phase: 'paused' },
        {
          type: 'in_doubt_asked',
          ...about,
          approval: QUESTION,
          effectId: EFFECT,
          epoch: EPOCH,
          question: 1,
          reason: 'the worker was lost',
          phase: 'paused',
        },
        { type: 'checkpoint', ...about, kind: 'resume_blocked', epoch: EPOCH, reason: 'the worker was lost' },
      )
      .thenSends({
        subject: 'hp.cmd.approval.request',
        id: `approval.request.${QUESTION}.0`,
        data: {
          id: QUESTION,
          task: TASK,
          node: NODE,
          revision: 1,
          effectId: EFFECT,
          effect: expect.any(Object) as never,
          digest: expect.any(String) as never,
          title: 'Did it happen? say hello: file append on file:sample.txt',
          requestedBy: 'linus',
          audience: ['operators'],
          timeoutMs: WAIT_MAX_MS,
          inDoubt: { epoch: EPOCH, reason: 'the worker was lost' },
        },
      });
    expect(viewOf(asked).nodes.find(({ id }) => id === NODE)).toMatchObject({
      job: 'escalated',
      question: QUESTION,
      approval: approvalOf(1),
    });
  });

  test('the question is sent again until it is answered', () => {
    given(...asked)
      .when(timer(reply, { attempt: 2 }), NOW)
      .thenEmits()
      .thenSends({ subject: 'hp.cmd.approval.request', id: `approval.request.${QUESTION}.2` });
  });

  test('no question opens while the executor repeats or probes the effect', () => {
    for (const next of ['repeat', 'probe'] as const)
      given(...histories.running)
        .when(inDoubt(EPOCH, next), NOW)
        .thenEmitsLike({
          type: 'checkpoint',
          kind: 'worker_crash_detected',
          epoch: EPOCH,
          phase: 'executing',
        })
        .thenSends();
  });

  test('an event about another node or an unordered effect changes nothing', () => {
    given(...histories.awaiting)
      .when(inDoubt(), NOW)
      .thenNothing();
    for (const change of [
      { node: NodeId.parse('done') },
      { node: NodeId.parse('nowhere') },
      { attempt: 2 },
    ]) {
      const { event } = inDoubt() as Extract<TaskMessage, { kind: 'effect' }>;
      given(...histories.running)
        .when({ kind: 'effect', event: { ...event, ...change } as never }, NOW)
        .thenNothing();
    }
  });
});

describe('an in-doubt answer', () => {
  test.each(['applied', 'not_applied', 'retry'] as const)(
    'the answer %s is sent to the executor until it reports',
    (answer) => {
      const command = {
        subject: 'hp.cmd.effect.resolve.default',
        data: { id: EFFECT, task: TASK, node: NODE, attempt: 1, statement: `says ${answer}` },
      };
      given(...asked)
        .when(answered(answer, { comment: 'I looked' }), NOW)
        .thenEmitsLike(
          {
            type: 'in_doubt_answered',
            ...about,
            approval: QUESTION,
            answer,
            by: 'grace',
            comment: 'I looked',
            statement: `says ${answer}`,
          },
          ...(answer === 'retry'
            ? ([
                { type: 'checkpoint', ...about, kind: 'resume_granted', epoch: EPOCH, phase: 'executing' },
              ] as const)
            : []),
        )
        .thenSends(
          { ...command, id: `effect.resolve.${QUESTION}.0` },
          ...(answer === 'retry' ? [settled('retry')] : []),
        );
      given(...after(asked, answered(answer)))
        .when(timer(reply, { attempt: 3 }), NOW)
        .thenEmits()
        .thenSends({ ...command, id: `effect.resolve.${QUESTION}.3` });
    },
  );

  test('an answer counts once and only for the open question', () => {
    for (const history of [after(asked, answered('applied')), after(asked, byHand('retry')), doubtful])
      given(...history)
        .when(answered('retry'), NOW)
        .thenEmits()
        .thenSends();
    given(...asked)
      .when(answered('applied', { id: doubtIdOf(EFFECT, EPOCH + 1) }), NOW)
      .thenNothing();
  });

  test('an expired question is asked again under another id', () => {
    for (const outcome of ['expired', 'cancelled'] as const)
      given(...asked)
        .when(resolved(outcome, { id: QUESTION }), NOW)
        .thenEmitsLike({
          type: 'in_doubt_asked',
          approval: doubtIdOf(EFFECT, EPOCH, 2),
          epoch: EPOCH,
          question: 2,
        })
        .thenSends({ subject: 'hp.cmd.approval.request' });
  });

  test('applied: the node continues', () => {
    given(...after(asked, answered('applied')))
      .when(applied({ epoch: EPOCH }), NOW)
      .thenEmitsLike(
        { type: 'node_succeeded', node: NODE },
        { type: 'node_succeeded', node: 'done' as never },
        { type: 'completed' },
      )
      .thenSends(settled('done'));
  });

  test('not applied: the node fails without a retry and names the person', () => {
    given(...after(asked, answered('not_applied')))
      .when(notApplied('person'), NOW)
      .thenEmitsLike(
        {
          type: 'node_ended',
          ...about,
          outcome: 'failed',
          error: { code: 'EXECUTOR_NOT_APPLIED', message: 'the effect was not applied: grace said so' },
        },
        { type: 'failed', error: { code: 'EXECUTOR_NOT_APPLIED' } as never },
      )
      .thenSends(settled('ended'))
      .thenTimes({ clear: reply });
  });

  test('retry: the effect runs again in the same attempt, and its outcome counts', () => {
    const again = after(asked, answered('retry'));
    expect(viewOf(again).nodes.find(({ id }) => id === NODE)).toMatchObject({
      job: 'running',
      effects: [EFFECT],
    });
    given(...again)
      .when(inDoubt(), NOW)
      .thenEmitsLike()
      .thenSends();
    given(...again)
      .when(applied({ epoch: 3 }), NOW)
      .thenEmitsLike({ type: 'node_succeeded' }, { type: 'node_succeeded' }, { type: 'completed' });
  });

  test('a retry in doubt is another question', () => {
    given(...after(asked, answered('retry')))
      .when(inDoubt(EPOCH + 2), NOW)
      .thenEmitsLike(
        { type: 'checkpoint', kind: 'worker_crash_detected', epoch: EPOCH + 2 },
        {
          type: 'in_doubt_asked',
          approval: doubtIdOf(EFFECT, EPOCH + 2, 2),
          epoch: EPOCH + 2,
          question: 2,
          phase: 'paused',
        },
        { type: 'checkpoint', kind: 'resume_blocked', epoch: EPOCH + 2 },
      )
      .thenSends({ subject: 'hp.cmd.approval.request' });
  });

  test('a retry that fails is given up, and an operator is asked', () => {
    const paused = 'failed when it was run again: EXECUTOR_TARGET_UNAVAILABLE: busy';
    const failedAgain = failedClean({ epoch: EPOCH + 1 });
    given(...after(asked, answered('retry')))
      .when(failedAgain, NOW)
      .thenEmitsLike({ type: 'node_failed', paused, phase: 'recovering' })
      .thenSends({ subject: 'hp.cmd.recovery.assess', data: { attempt: 1, paused } });
    given(...after(asked, answered('retry'), failedAgain))
      .when(recover('escalate', { reason: paused }), NOW)
      .thenEmitsLike({ type: 'node_escalated', phase: 'paused' }, { type: 'stuck_asked', question: 2 })
      .thenSends({ subject: 'hp.cmd.approval.request' });
    // An older verdict on the same attempt must not continue the job.
    for (const kind of ['retry', 'escalate'] as const)
      given(...after(asked, answered('retry'), failedAgain))
        .when(recover(kind), NOW)
        .thenNothing();
  });

  test('an answer about an earlier start leads to a question about the later one', () => {
    const cancelled = {
      subject: 'hp.cmd.approval.cancel',
      data: {
        id: QUESTION,
        task: TASK,
        node: NODE,
        revision: 1,
        reason: 'the effect is in doubt again, for another start',
      },
    };
    const next = { subject: 'hp.cmd.approval.request' };
    given(...asked)
      .when(inDoubt(EPOCH + 1), NOW)
      .thenEmitsLike({ type: 'in_doubt_asked', epoch: EPOCH + 1, question: 2 }, { type: 'checkpoint' })
      .thenSends(cancelled, next);
    given(...after(asked, answered('applied')))
      .when(inDoubt(EPOCH + 1), NOW)
      .thenEmitsLike({ type: 'in_doubt_asked', epoch: EPOCH + 1, question: 2 }, { type: 'checkpoint' })
      .thenSends(next);
  });
});

describe('a withdrawn in-doubt question', () => {
  test.each([
    ['the effect turns out to have happened', applied(), 'the node is done'],
    ['another attempt is granted by hand', byHand('retry'), 'another attempt starts'],
    ['the node is left out by hand', byHand('skip', { node: NODE }), 'skipped by hand (ada)'],
    ['the node is cancelled by hand', byHand('cancel', { node: NODE }), 'cancelled by hand (ada)'],
    ['the task is cancelled by hand', byHand('cancel'), 'cancelled by hand'],
  ])('the question is withdrawn %s', (_, message, reason) => {
    const [before] = [asked];
    const state = before.reduce((reached, event) => taskDecider.evolve(reached, event), taskDecider.initial);
    const { send } = taskDecider.decide(state, message, { now: NOW });
    expect(send.filter(({ subject }) => subject === 'hp.cmd.approval.cancel')).toMatchObject([
      { data: { id: QUESTION, task: TASK, node: NODE, revision: 1, reason } },
    ]);
    const over = after(asked, message);
    expect(viewOf(over).nodes.find(({ id }) => id === NODE)).not.toHaveProperty('question');
    given(...over)
      .when(resolved('cancelled', { id: QUESTION, by: 'orchestrator' }), NOW)
      .thenEmits()
      .thenTimes({ clear: `withdraw:${NODE}:${QUESTION}` });
  });
});

describe('a probe result', () => {
  test('a probe that finds the effect not applied is a failure for recovery', () => {
    given(...after(histories.running, inDoubt(EPOCH, 'probe')))
      .when(notApplied('probe'), NOW)
      .thenEmitsLike({
        type: 'node_failed',
        ...about,
        outcome: 'failed',
        error: { code: 'EXECUTOR_NOT_APPLIED', message: 'grace said so' },
      })
      .thenSends({ subject: 'hp.cmd.recovery.assess' });
  });

  test('a probe that finds the effect not applied confirms its withdrawal', () => {
    given(...histories.cancelledRunning)
      .when(notApplied('probe'), NOW)
      .thenEmits()
      .thenTimes({ clear: `withdraw:${NODE}:${EFFECT}` });
  });
});

describe('effect checkpoints', () => {
  const crashed = after(histories.running, inDoubt(EPOCH, 'repeat'));
  const kindsIn = (history: readonly TaskEvent[]) =>
    history.flatMap((event) => (event.type === 'checkpoint' ? [event.kind] : []));

  test('checkpoints show the lost worker and the recovery of an applied effect', () => {
    given(...crashed)
      .when(inDoubt(EPOCH, 'repeat'), NOW)
      .thenNothing();
    const done = after(crashed, applied());
    expect(kindsIn(done)).toEqual(['worker_crash_detected', 'resume_granted']);
    expect(viewOf(done).checkpoints).toMatchObject([
      { kind: 'resume_granted', node: NODE, attempt: 1, by: 'grace' },
      { kind: 'worker_crash_detected', node: NODE, attempt: 1, epoch: EPOCH },
      { kind: 'resume_granted', node: NODE, attempt: 1 },
    ]);
  });

  test('checkpoints show a duplicate order once per attempt', () => {
    const prevented = reported({ type: 'duplicate_prevented', outcome: 'applied' });
    const told = after(histories.running, prevented);
    expect(kindsIn(told)).toEqual(['duplicate_effect_prevented']);
    given(...told)
      .when(prevented, NOW)
      .thenNothing();
  });

  test('checkpoints show who allowed a retry in doubt', () => {
    expect(kindsIn(after(asked, byHand('retry')))).toEqual([
      'worker_crash_detected',
      'resume_blocked',
      'resume_granted',
    ]);
    expect(kindsIn(after(doubtful, recover('retry')))).toEqual(['worker_crash_detected', 'resume_granted']);
  });

  test('the view shows the latest fifty checkpoints', () => {
    const many = Array.from({ length: 60 }, (_, i) => inDoubt(i + 1, 'repeat'));
    const { checkpoints = [] } = viewOf(after(histories.running, ...many));
    expect(checkpoints).toHaveLength(50);
    expect(checkpoints.at(-1)).toMatchObject({ epoch: 60 });
  });
});
