import { stuckIdOf } from '@holdpoint/contracts/values/ids';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { resendDelayMs } from '@holdpoint/runtime/decider';
import {
  approvalOf,
  EFFECT,
  histories,
  NODE,
  NOW,
  OPEN,
  type Situation,
  TASK,
  TERMINAL,
  timer,
} from '../../testing/tasks.ts';
import { taskDecider } from './decide.ts';

const given = specFor(taskDecider);
const givenTask = (name: Situation) => given(...histories[name]);
const due = (attempt: number) => timer(`reply:${NODE}`, { attempt });

const questions = [
  ['awaiting', 'hp.cmd.approval.request', `approval.request.${approvalOf(1)}`],
  ['awaitingAnew', 'hp.cmd.approval.request', `approval.request.${approvalOf(2)}`],
  ['pausedAwaiting', 'hp.cmd.approval.request', `approval.request.${approvalOf(1)}`],
  ['running', 'hp.cmd.effect.run.default', `effect.run.${EFFECT}.1.1`],
  ['pausedRunning', 'hp.cmd.effect.run.default', `effect.run.${EFFECT}.1.1`],
  ['recovering', 'hp.cmd.recovery.assess', `recovery.assess.${TASK}.${NODE}.1`],
  ['escalated', 'hp.cmd.approval.request', `approval.request.${stuckIdOf(TASK, NODE, 1)}`],
  ['changesRequested', 'hp.cmd.approval.request', `approval.request.${stuckIdOf(TASK, NODE, 1)}`],
  ['pausedEscalated', 'hp.cmd.approval.request', `approval.request.${stuckIdOf(TASK, NODE, 1)}`],
  ['retriedEscalated', 'hp.cmd.approval.request', `approval.request.${stuckIdOf(TASK, NODE, 2)}`],
  ['pausedRecovering', 'hp.cmd.recovery.assess', `recovery.assess.${TASK}.${NODE}.1`],
] as const;

describe('an unanswered request', () => {
  test.each(questions)(
    'the request of a task that is %s is sent again on %s with a new message id',
    (name, subject, id) => {
      for (const attempt of [1, 2, 9]) {
        givenTask(name)
          .when(due(attempt), NOW)
          .thenEmits()
          .thenSends({ subject, id: `${id}.${String(attempt)}` })
          .thenTimes({
            set: `reply:${NODE}`,
            dueAt: NOW + resendDelayMs(attempt + 1),
            ...(subject === 'hp.cmd.approval.request' && { dueIfDecided: NOW + 21_600_000 }),
            data: { attempt: attempt + 1 },
          });
      }
    },
  );

  test('a timer without data sends the request again', () => {
    givenTask('awaiting')
      .when(timer(`reply:${NODE}`), NOW)
      .thenSends({ id: `approval.request.${approvalOf(1)}.1` });
  });

  test('the delay grows up to a bound', () => {
    const waits = Array.from({ length: 50 }, (_, i) => resendDelayMs(i + 1));
    expect(waits).toEqual(waits.toSorted((a, b) => a - b));
    expect(new Set(waits.slice(0, 3)).size).toBe(3);
    expect(waits.at(-1)).toBe(6 * 3_600_000);
  });
});

describe('a timer without an open request', () => {
  const asking: readonly Situation[] = questions.map(([name]) => name);

  test.each([...OPEN.filter((name) => !asking.includes(name)), ...TERMINAL])(
    'the timer does nothing when the task is %s',
    (name) => {
      givenTask(name).when(due(1), NOW).thenNothing();
    },
  );

  test('the timer does nothing under another name', () => {
    givenTask('awaiting').when(timer('other'), NOW).thenNothing();
    given().when(due(1), NOW).thenNothing();
  });
});
