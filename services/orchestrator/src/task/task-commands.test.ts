import { stuckIdOf } from '@holdpoint/contracts/values/ids';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { continued, specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { resendDelayMs } from '@holdpoint/runtime/decider';
import {
  applied,
  approvalOf,
  byHand,
  EFFECT,
  failedClean,
  GRANT,
  histories,
  NODE,
  NOW,
  OPEN,
  recover,
  type Situation,
  TASK,
  TERMINAL,
} from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';
import type { TaskMessage } from './model/messages.ts';
import type { Task } from './model/state.ts';

const given = specFor(taskDecider);
const givenTask = (name: Situation) => given(...histories[name]);

describe('the command cancel', () => {
  const askAgain = (of: string) => ({
    set: `withdraw:${NODE}:${of}`,
    dueAt: NOW + resendDelayMs(1),
    data: { attempt: 1 },
  });

  test.each(OPEN)('cancel ends a task that is %s', (name) => {
    givenTask(name)
      .when(byHand('cancel', { reason: 'enough' }), NOW)
      .thenEmits({ type: 'cancelled', id: TASK, phase: 'cancelled', by: 'ada', reason: 'enough' })
      .thenAnswers({ id: TASK, phase: 'cancelled' });
  });

  test.each(['awaiting', 'pausedAwaiting'] as const)(
    'cancel withdraws the open request of a task that is %s',
    (name) => {
      givenTask(name)
        .when(byHand('cancel', { reason: 'enough' }), NOW)
        .thenSends({
          subject: 'hp.cmd.approval.cancel',
          data: { id: approvalOf(1), task: TASK, node: NODE, revision: 1, reason: 'enough' },
        })
        .thenTimes({ clear: `reply:${NODE}` }, askAgain(approvalOf(1)));
    },
  );

  test.each(['running', 'pausedRunning'] as const)(
    'cancel withdraws the order of a task that is %s',
    (name) => {
      givenTask(name)
        .when(byHand('cancel', { reason: 'enough' }), NOW)
        .thenSends({
          subject: 'hp.cmd.effect.cancel.default',
          data: { id: EFFECT, task: TASK, node: NODE, attempt: 1, reason: 'enough' },
        })
        .thenTimes({ clear: `reply:${NODE}` }, askAgain(EFFECT));
    },
  );

  test.each(['retrying', 'pausedRetrying'] as const)(
    'cancel clears the retry of a task that is %s',
    (name) => {
      givenTask(name)
        .when(byHand('cancel'), NOW)
        .thenSends()
        .thenTimes({ clear: `retry:${NODE}` });
    },
  );

  test('a second cancel changes nothing', () => {
    givenTask('cancelled').when(byHand('cancel'), NOW).thenNothing().thenAnswers({ phase: 'cancelled' });
  });

  test.each(['completed', 'failed'] as const)('cancel is refused for a task that is %s', (name) => {
    givenTask(name).when(byHand('cancel'), NOW).thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
  });

  test.each(['completed', 'failed'] as const)(
    'cancel with ifOpen changes nothing in a task that is %s',
    (name) => {
      givenTask(name)
        .when(byHand('cancel', { ifOpen: true }), NOW)
        .thenNothing()
        .thenAnswers({ phase: name });
    },
  );

  test('cancel is refused for an unknown task', () => {
    given().when(byHand('cancel'), NOW).thenRefuses('ORCHESTRATOR_UNKNOWN_TASK');
  });
});

describe('the command pause', () => {
  const free = OPEN.filter((name) => !name.startsWith('paused'));

  test.each(free)('pause holds a task that is %s', (name) => {
    const pause = byHand('pause', { reason: 'lunch' });
    const said = { by: 'ada', reason: 'lunch', command: pause.commandId };
    givenTask(name)
      .when(pause, NOW)
      .thenEmits({ type: 'paused', id: TASK, phase: 'paused', ...said })
      .thenSends()
      .thenTimes()
      .thenAnswers({ phase: 'paused' });
  });

  test.each(OPEN.filter((name) => name.startsWith('paused')))(
    'pause changes nothing in a task that is %s',
    (name) => {
      givenTask(name).when(byHand('pause'), NOW).thenNothing().thenAnswers({ phase: 'paused' });
    },
  );

  test.each(TERMINAL)('pause is refused for a task that is %s', (name) => {
    givenTask(name).when(byHand('pause'), NOW).thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
  });
});

describe('the command resume', () => {
  test.each([
    ['pausedAwaiting', 'awaiting_approval'],
    ['pausedRunning', 'executing'],
    ['pausedRecovering', 'recovering'],
    ['pausedRetrying', 'recovering'],
    ['pausedEscalated', 'paused'],
  ] as const)('resume leaves a task that is %s in the phase %s with its open requests', (name, phase) => {
    const resume = byHand('resume');
    givenTask(name)
      .when(resume, NOW)
      .thenEmits({ type: 'resumed', id: TASK, phase, by: 'ada', command: resume.commandId })
      .thenSends()
      .thenTimes()
      .thenAnswers({ phase });
  });

  test('resume orders an effect that was approved during the pause', () => {
    givenTask('pausedApproved')
      .when(byHand('resume'), NOW)
      .thenEmitsLike(
        { type: 'resumed', phase: 'executing' },
        { type: 'effect_ordered', phase: 'executing', ...GRANT },
      )
      .thenSends({
        subject: 'hp.cmd.effect.run.default',
        data: { id: EFFECT, attempt: 1, grant: GRANT.grant },
      })
      .thenTimes({ set: `reply:${NODE}`, dueAt: NOW + 20_000, data: { attempt: 1 } });
  });

  test('resume requests approval again when the grant has expired', () => {
    givenTask('pausedApproved')
      .when(byHand('resume'), GRANT.validUntil - 5_000)
      .thenEmitsLike(
        { type: 'resumed' },
        { type: 'approval_requested', revision: 2, approval: approvalOf(2), attempt: 1 },
      )
      .thenSends({ data: { id: approvalOf(2), revision: 2 } });
  });

  test('resume fails a task that was rejected during the pause', () => {
    givenTask('pausedRejected')
      .when(byHand('resume'), NOW)
      .thenEmitsLike(
        { type: 'resumed' },
        { type: 'failed', phase: 'failed', error: { code: 'ERR_FORBIDDEN' } },
      );
  });

  test('resume completes a task whose effect was applied during the pause', () => {
    givenTask('pausedDone')
      .when(byHand('resume'), NOW)
      .thenEmitsLike(
        { type: 'resumed' },
        { type: 'node_succeeded', node: 'done' as never },
        { type: 'completed', phase: 'completed', outputs: { append: { line: 1 } } },
      );
  });

  test.each(['awaiting', 'awaitingAnew', 'running', 'recovering', 'retrying'] as const)(
    'resume changes nothing in a task that is %s',
    (name) => {
      givenTask(name).when(byHand('resume'), NOW).thenNothing();
    },
  );

  test.each(['escalated', 'changesRequested', ...TERMINAL] as const)(
    'resume is refused for a task that is %s',
    (name) => {
      givenTask(name).when(byHand('resume'), NOW).thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
    },
  );
});

const STUCK = stuckIdOf(TASK, NODE, 1);
/** The question about the stuck job is withdrawn, and recovery hears of its end. */
const settledBy = (how: string) => [
  { subject: 'hp.cmd.approval.cancel', data: { id: STUCK } },
  { subject: 'hp.cmd.recovery.job_unstuck', data: { task: TASK, node: NODE, attempt: 1, resolution: how } },
];

describe('the command retry', () => {
  const retrying = { type: 'node_retrying', phase: 'recovering', node: NODE, attempt: 2, delayMs: 0 };

  test('retry of an escalated job is another attempt under a valid grant', () => {
    givenTask('escalated')
      .when(byHand('retry'), NOW)
      .thenEmitsLike(retrying, { type: 'effect_ordered', attempt: 2, grant: GRANT.grant })
      .thenSends(...settledBy('retry'), {
        subject: 'hp.cmd.effect.run.default',
        data: { id: EFFECT, attempt: 2 },
      })
      .thenAnswers({ phase: 'executing' });
  });

  test('retry after an expired grant needs another approval', () => {
    givenTask('escalated')
      .when(byHand('retry'), GRANT.validUntil)
      .thenEmitsLike(retrying, {
        type: 'approval_requested',
        attempt: 2,
        revision: 2,
        approval: approvalOf(2),
      });
  });

  test('retry after requested changes needs another approval', () => {
    givenTask('changesRequested')
      .when(byHand('retry', { node: NODE }), NOW)
      .thenEmitsLike(retrying, { type: 'approval_requested', attempt: 2, revision: 2 })
      .thenAnswers({ phase: 'awaiting_approval' });
  });

  test('retry in a paused task waits until it is resumed', () => {
    givenTask('pausedEscalated')
      .when(byHand('retry'), NOW)
      .thenEmitsLike({ ...retrying, phase: 'paused' })
      .thenSends(...settledBy('retry'))
      .thenTimes(
        { clear: `reply:${NODE}` },
        { set: `withdraw:${NODE}:${STUCK}`, dueAt: NOW + resendDelayMs(1), data: { attempt: 1 } },
        { set: `retry:${NODE}`, dueAt: NOW },
      );
  });

  test('retry of a job that is not escalated is refused', () => {
    givenTask('escalated')
      .when(byHand('retry', { node: 'prepare' as never }), NOW)
      .thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
    givenTask('escalated')
      .when(byHand('retry', { node: 'nowhere' as never }), NOW)
      .thenRefuses('ORCHESTRATOR_UNKNOWN_NODE');
  });

  test.each([...OPEN.filter((name) => !/escalated|changes/i.test(name)), ...TERMINAL])(
    'retry is refused for a task that is %s',
    (name) => {
      givenTask(name).when(byHand('retry'), NOW).thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
    },
  );

  test('retry that names an attempt changes nothing once another has followed', () => {
    givenTask('escalated')
      .when(byHand('retry', { attempt: 1 }), NOW)
      .thenEmitsLike(retrying, { type: 'effect_ordered', attempt: 2 });
    givenTask('escalated')
      .when(byHand('retry', { attempt: 2 }), NOW)
      .thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
    givenTask('retriedEscalated')
      .when(byHand('retry', { node: NODE, attempt: 1 }), NOW)
      .thenNothing()
      .thenAnswers({ phase: 'paused' });
    givenTask('retriedEscalated')
      .when(byHand('retry', { attempt: 2 }), NOW)
      .thenEmitsLike({ type: 'node_retrying', attempt: 3 }, { type: 'effect_ordered' });
  });
});

describe('a repeated command', () => {
  const pause = byHand('pause');
  const resume = byHand('resume');
  const retry = byHand('retry');
  const after = (history: readonly TaskEvent[], ...messages: readonly TaskMessage[]) =>
    continued(taskDecider, history, ...messages.map((message) => [message, NOW] as const));
  const second = [failedClean({ attempt: 2 }), recover('escalate', { attempt: 2 })] as const;

  test.each([
    ['pause', pause, after(histories.running, pause, byHand('resume')), 'executing'],
    ['resume', resume, after(histories.pausedRunning, resume, byHand('pause')), 'paused'],
    ['retry', retry, after(histories.escalated, retry, ...second), 'paused'],
  ] as const)('%s has its effect once, whatever has happened since', (_, command, history, phase) => {
    given(...history)
      .when(command, NOW)
      .thenNothing()
      .thenAnswers({ phase });
    given(...history)
      .when(byHand(command.kind), NOW)
      .thenEmitsLike(...(command.kind === 'retry' ? [{}, {}] : [{}]));
  });

  test('a command is remembered for a long time, but not without limit', () => {
    const pairs = (count: number) =>
      Array.from({ length: count }, () => [byHand('pause'), byHand('resume')]).flat();
    given(...after(histories.running, pause, resume, ...pairs(24)))
      .when(pause, NOW)
      .thenNothing();
    const long = after(histories.running, pause, resume, ...pairs(25));
    expect(stateOf(long).commands).toHaveLength(50);
    given(...long)
      .when(pause, NOW)
      .thenEmitsLike({ type: 'paused' });
  });

  test('a repeat after the end of the task gets the first answer', () => {
    given(...after(histories.pausedRunning, resume, applied()))
      .when(resume, NOW)
      .thenNothing()
      .thenAnswers({ phase: 'completed' });
  });
});

const stateOf = (history: readonly TaskEvent[]): Task => {
  const state = history.reduce((before, event) => taskDecider.evolve(before, event), taskDecider.initial);
  if (state.phase === 'absent') throw new Error('there is no task');
  return state;
};
