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

test.each(OPEN)('a note is kept with a task that is %s, and changes nothing else of it', (name) => {
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

test('a note is shown with the task', () => {
  const noted = continued(taskDecider, histories.awaiting, [note(), NOW]);
  const state = noted.reduce((before, event) => taskDecider.evolve(before, event), taskDecider.initial);
  expect((state as Task).checkpoints?.at(-1)).toMatchObject({ kind: 'noted', name: 'rehearsed', by: 'ada' });
});

test('the same name counts once for an attempt, whoever says it again', () => {
  given(...continued(taskDecider, histories.awaiting, [note(), NOW]))
    .when(note({ by: 'grace', note: 'again' }), NOW)
    .thenEmits()
    .thenAnswers({ id: TASK });
});

test.each(TERMINAL)('a task that is %s takes none', (name) => {
  givenTask(name).when(note(), NOW).thenEmits().thenAnswersError('ORCHESTRATOR_ILLEGAL_IN_PHASE');
});

test('a node that the task does not have takes none', () => {
  givenTask('awaiting')
    .when(note({ node: NodeId.parse('other') }), NOW)
    .thenEmits()
    .thenAnswersError('ORCHESTRATOR_UNKNOWN_NODE');
});

test('an attempt takes so many and no more', () => {
  const notes = Array.from({ length: 100 }, (_, i) => [note({ name: `n${String(i)}` }), NOW] as const);
  given(...continued(taskDecider, histories.awaiting, ...notes))
    .when(note({ name: 'one more' }), NOW)
    .thenEmits()
    .thenAnswersError('ORCHESTRATOR_ILLEGAL_IN_PHASE');
});
