import { TaskId } from '@holdpoint/contracts/values/ids';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { byHand, NOW, recover, submission, submit, TASK, timer } from '../../testing/tasks.ts';
import { orchestratorKinds } from '../aggregates.ts';
import { taskSummary } from '../queries/tasks.ts';
import { taskDecider } from './decide.ts';
import type { TaskMessage } from './model/messages.ts';

const WATCHER = TaskId.parse('t-parent');
const watch: TaskMessage = { kind: 'watch', payload: { id: TASK, watcher: WATCHER }, task: TASK };
const cancelIfOpen = (): TaskMessage => byHand('cancel', { ifOpen: true, by: 't-parent', reason: 'over' });
const given = specFor(taskDecider);
const RECORDED = {
  type: 'cancelled_before_submission',
  id: TASK,
  phase: 'cancelled',
  by: 't-parent',
  reason: 'over',
} as const;

describe('a task that is cancelled before its submission arrives', () => {
  test('a cancellation with ifOpen is recorded as a tombstone', () => {
    given().when(cancelIfOpen(), NOW).thenEmits(RECORDED).thenSends().thenTimes().thenAnswers({
      id: TASK,
      phase: 'cancelled',
      version: 1,
    });
  });

  test('a repeated or another cancellation records nothing more', () => {
    for (const again of [cancelIfOpen(), byHand('cancel')])
      given(RECORDED).when(again, NOW).thenNothing().thenAnswers({ phase: 'cancelled' });
  });

  test('a tombstone refuses every submission', () => {
    given(RECORDED).when(submit(), NOW).thenRefuses('ORCHESTRATOR_TASK_CANCELLED');
    given(RECORDED)
      .when(submit({ ...submission, goal: 'another goal' }), NOW)
      .thenRefuses('ORCHESTRATOR_TASK_CANCELLED');
  });

  test('a tombstone answers every watcher with cancelled', () => {
    given(RECORDED)
      .when(watch, NOW)
      .thenEmits()
      .thenSends({
        subject: 'hp.cmd.task.notify',
        data: {
          id: WATCHER,
          notification: { kind: 'peer', task: WATCHER, peer: TASK, outcome: 'cancelled' },
        },
      });
  });

  test('a tombstone refuses other commands as an unknown task', () => {
    for (const kind of ['pause', 'resume', 'retry'] as const)
      given(RECORDED).when(byHand(kind), NOW).thenRefuses('ORCHESTRATOR_UNKNOWN_TASK');
  });

  test('a tombstone ignores timers and answers a verdict as an unknown task', () => {
    given(RECORDED).when(timer('reply:append'), NOW).thenNothing();
    given(RECORDED)
      .when(recover('escalate'), NOW)
      .thenEmits()
      .thenSends({ data: { task: TASK, resolution: 'ended' } });
  });

  test('a tombstone refuses the submission of a program and a fork', () => {
    const both = orchestratorKinds().task.decider;
    const state = both.evolve(both.initial, RECORDED);
    const program = { id: 'p', version: '1', initial: 'a', phases: [{ id: 'a', type: 'terminal' }] };
    for (const message of [
      { kind: 'submit', task: TASK, payload: { ...submission, program } },
      { kind: 'fork_program', task: TASK, origin: {}, version: 1, by: 'ada' },
      { kind: 'fork', task: TASK, origin: {}, carried: {}, by: 'ada' },
    ] as unknown as readonly TaskMessage[])
      expect(both.decide(state, message, { now: NOW })).toMatchObject({
        events: [],
        answer: { error: { code: 'ORCHESTRATOR_TASK_CANCELLED' } },
      });
  });

  test('a tombstone is in no list and has a status that purge removes', () => {
    expect(taskSummary(taskDecider.evolve(taskDecider.initial, RECORDED))).toEqual({
      status: 'tombstone',
      view: null,
    });
  });
});

describe('a cancellation of an unknown task', () => {
  test('a cancellation without ifOpen is refused and records nothing', () => {
    given().when(byHand('cancel'), NOW).thenRefuses('ORCHESTRATOR_UNKNOWN_TASK');
  });

  test('a cancellation of a node is refused and records nothing', () => {
    given()
      .when({ ...byHand('cancel', { ifOpen: true, node: 'a' as never }) }, NOW)
      .thenRefuses('ORCHESTRATOR_UNKNOWN_TASK');
  });
});
