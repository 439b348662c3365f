import { specFor } from '@holdpoint/runtime/testing/spec';
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
  type Situation,
  TASK,
  TERMINAL,
} from '../testing/tasks.ts';
import { taskDecider } from './decide.ts';

const given = specFor(taskDecider);
const givenTask = (name: Situation) => given(...histories[name]);

describe('cancelling', () => {
  test.each(OPEN)('ends a task that is %s', (name) => {
    givenTask(name)
      .when(byHand('cancel', { reason: 'enough' }), NOW)
      .thenEmits({ type: 'cancelled', id: TASK, phase: 'cancelled', by: 'ada', reason: 'enough' })
      .thenAnswers({ id: TASK, phase: 'cancelled' });
  });

  test.each(['awaiting', 'pausedAwaiting'] as const)(
    'withdraws the open request of a task that is %s',
    (name) => {
      givenTask(name)
        .when(byHand('cancel', { reason: 'enough' }), NOW)
        .thenSends({ subject: 'hp.cmd.approval.cancel', data: { id: approvalOf(1), reason: 'enough' } })
        .thenTimes({ clear: `reply:${NODE}` });
    },
  );

  test.each(['running', 'pausedRunning'] as const)('withdraws the order of a task that is %s', (name) => {
    givenTask(name)
      .when(byHand('cancel', { reason: 'enough' }), NOW)
      .thenSends({
        subject: 'hp.cmd.effect.cancel.default',
        data: { id: EFFECT, task: TASK, node: NODE, attempt: 1, reason: 'enough' },
      })
      .thenTimes({ clear: `reply:${NODE}` });
  });

  test.each(['retrying', 'pausedRetrying'] as const)('clears the retry of a task that is %s', (name) => {
    givenTask(name)
      .when(byHand('cancel'), NOW)
      .thenSends()
      .thenTimes({ clear: `retry:${NODE}` });
  });

  test('a second time changes nothing', () => {
    givenTask('cancelled').when(byHand('cancel'), NOW).thenNothing().thenAnswers({ phase: 'cancelled' });
  });

  test.each(['completed', 'failed'] as const)('a task that is %s is refused', (name) => {
    givenTask(name).when(byHand('cancel'), NOW).thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
  });
});

describe('pausing', () => {
  const free = OPEN.filter((name) => !name.startsWith('paused'));

  test.each(free)('holds a task that is %s', (name) => {
    givenTask(name)
      .when(byHand('pause', { reason: 'lunch' }), NOW)
      .thenEmits({ type: 'paused', id: TASK, phase: 'paused', by: 'ada', reason: 'lunch' })
      .thenSends()
      .thenTimes()
      .thenAnswers({ phase: 'paused' });
  });

  test.each(OPEN.filter((name) => name.startsWith('paused')))('what is %s changes nothing', (name) => {
    givenTask(name).when(byHand('pause'), NOW).thenNothing().thenAnswers({ phase: 'paused' });
  });

  test.each(TERMINAL)('a task that is %s is refused', (name) => {
    givenTask(name).when(byHand('pause'), NOW).thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
  });
});

describe('resuming', () => {
  test.each([
    ['pausedAwaiting', 'awaiting_approval'],
    ['pausedRunning', 'executing'],
    ['pausedRecovering', 'recovering'],
    ['pausedRetrying', 'recovering'],
    ['pausedEscalated', 'paused'],
  ] as const)('a task that is %s leaves it %s: what was asked is still asked', (name, phase) => {
    givenTask(name)
      .when(byHand('resume'), NOW)
      .thenEmits({ type: 'resumed', id: TASK, phase, by: 'ada' })
      .thenSends()
      .thenTimes()
      .thenAnswers({ phase });
  });

  test('a task that was approved meanwhile orders its effect', () => {
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
      .thenTimes({ set: `reply:${NODE}`, dueAt: NOW + 20_000, data: { ask: 1 } });
  });

  test('a task whose grant ran out meanwhile asks anew', () => {
    givenTask('pausedApproved')
      .when(byHand('resume'), GRANT.validUntil - 5_000)
      .thenEmitsLike(
        { type: 'resumed' },
        { type: 'approval_requested', revision: 2, approval: approvalOf(2), attempt: 1 },
      )
      .thenSends({ data: { id: approvalOf(2), revision: 2 } });
  });

  test('a task that was rejected meanwhile fails', () => {
    givenTask('pausedRejected')
      .when(byHand('resume'), NOW)
      .thenEmitsLike(
        { type: 'resumed' },
        { type: 'failed', phase: 'failed', error: { code: 'ERR_FORBIDDEN' } },
      );
  });

  test('a task whose effect was applied meanwhile completes', () => {
    givenTask('pausedDone')
      .when(byHand('resume'), NOW)
      .thenEmitsLike(
        { type: 'resumed' },
        { type: 'completed', phase: 'completed', outputs: { append: { line: 1 } } },
      );
  });

  test.each(['awaiting', 'running', 'recovering', 'retrying'] as const)(
    'what is %s changes nothing',
    (name) => {
      givenTask(name).when(byHand('resume'), NOW).thenNothing();
    },
  );

  test.each(['escalated', 'changesRequested', ...TERMINAL] as const)(
    'a task that is %s is refused',
    (name) => {
      givenTask(name).when(byHand('resume'), NOW).thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
    },
  );
});

describe('retrying', () => {
  const retrying = { type: 'node_retrying', phase: 'recovering', node: NODE, attempt: 2, delayMs: 0 };

  test('what was escalated is another attempt, under the grant that still holds', () => {
    givenTask('escalated')
      .when(byHand('retry'), NOW)
      .thenEmitsLike(retrying, { type: 'effect_ordered', attempt: 2, grant: GRANT.grant })
      .thenSends({ subject: 'hp.cmd.effect.run.default', data: { id: EFFECT, attempt: 2 } })
      .thenAnswers({ phase: 'executing' });
  });

  test('what was escalated after its grant ran out needs another decision', () => {
    givenTask('escalated')
      .when(byHand('retry'), GRANT.validUntil)
      .thenEmitsLike(retrying, {
        type: 'approval_requested',
        attempt: 2,
        revision: 2,
        approval: approvalOf(2),
      });
  });

  test('what has to be changed needs another decision', () => {
    givenTask('changesRequested')
      .when(byHand('retry', { node: NODE }), NOW)
      .thenEmitsLike(retrying, { type: 'approval_requested', attempt: 2, revision: 2 })
      .thenAnswers({ phase: 'awaiting_approval' });
  });

  test('in a paused task waits until it goes on', () => {
    givenTask('pausedEscalated')
      .when(byHand('retry'), NOW)
      .thenEmitsLike({ ...retrying, phase: 'paused' })
      .thenSends()
      .thenTimes({ set: `retry:${NODE}`, dueAt: NOW });
  });

  test('another node than the one that was escalated is refused', () => {
    givenTask('escalated')
      .when(byHand('retry', { node: 'prepare' as never }), NOW)
      .thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
    givenTask('escalated')
      .when(byHand('retry', { node: 'nowhere' as never }), NOW)
      .thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
  });

  test.each([...OPEN.filter((name) => !/escalated|changes/i.test(name)), ...TERMINAL])(
    'a task that is %s is refused',
    (name) => {
      givenTask(name).when(byHand('retry'), NOW).thenRefuses('ORCHESTRATOR_ILLEGAL_IN_PHASE');
    },
  );
});
