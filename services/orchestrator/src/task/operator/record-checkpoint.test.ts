import { commandIdOf, NodeId } from '@holdpoint/contracts/values/ids';
import type { RecordCheckpoint } from '@holdpoint/contracts/task/commands';
import { continued, specFor } from '@holdpoint/runtime/testing/spec';
import { expect, test } from 'vitest';
import { histories, NODE, NOW, OPEN, type Situation, TASK, TERMINAL } from '../../../testing/tasks.ts';
import { taskDecider } from '../decide.ts';
import type { TaskMessage } from '../model/messages.ts';
import type { Task } from '../model/state.ts';

const given = specFor(taskDecider);
const givenTask = (name: Situation) => given(...histories[name]);

const note = (change: Partial<RecordCheckpoint> = {}): TaskMessage => {
  const payload = { id: TASK, node: NODE, name: 'rehearsed', note: 'it went well', by: 'ada', ...change };
  return {
    kind: 'checkpoint',
    payload,
    task: TASK,
    commandId: commandIdOf('checkpoint', crypto.randomUUID()),
  };
};

test.each(OPEN)('a note on a task that is %s changes nothing else', (name) => {
  givenTask(name)
    .when(note({ agent: 'claude' }), NOW)
    .thenEmitsLike({
      type: 'checkpoint',
      node: NODE,
      kind: 'noted',
      name: 'rehearsed',
      reason: 'it went well',
      by: 'ada',
      agent: 'claude',
    });
});

test('the view shows the note', () => {
  const noted = continued(taskDecider, histories.awaiting, [note(), NOW]);
  const state = noted.reduce((before, event) => taskDecider.evolve(before, event), taskDecider.initial);
  expect((state as Task).checkpoints?.at(-1)).toMatchObject({ kind: 'noted', name: 'rehearsed', by: 'ada' });
});

test('a note counts once per attempt and name', () => {
  given(...continued(taskDecider, histories.awaiting, [note(), NOW]))
    .when(note({ by: 'grace', note: 'again' }), NOW)
    .thenEmits()
    .thenAnswers({ id: TASK });
});

test.each(TERMINAL)('a task that is %s refuses notes', (name) => {
  givenTask(name).when(note(), NOW).thenEmits().thenAnswersError('ORCHESTRATOR_ILLEGAL_IN_PHASE');
});

test('a note may have a payload, and names the attempt that it belongs to', () => {
  const payload = { ticket: 'OPS-7', checked: ['staging'] };
  givenTask('awaiting')
    .when(note({ attempt: 1, payload }), NOW)
    .thenEmitsLike({ type: 'checkpoint', name: 'rehearsed', payload });
  givenTask('awaiting')
    .when(note({ attempt: 2 }), NOW)
    .thenEmits()
    .thenAnswersError('ORCHESTRATOR_ILLEGAL_IN_PHASE');
});

test('an unknown node refuses notes', () => {
  givenTask('awaiting')
    .when(note({ node: NodeId.parse('other') }), NOW)
    .thenEmits()
    .thenAnswersError('ORCHESTRATOR_UNKNOWN_NODE');
});

test('an attempt takes a limited number of notes', () => {
  const notes = Array.from({ length: 100 }, (_, i) => [note({ name: `n${String(i)}` }), NOW] as const);
  given(...continued(taskDecider, histories.awaiting, ...notes))
    .when(note({ name: 'one more' }), NOW)
    .thenEmits()
    .thenAnswersError('ORCHESTRATOR_ILLEGAL_IN_PHASE');
});
