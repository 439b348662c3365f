import { commandIdOf, NodeId } from '@holdpoint/contracts/values/ids';
import type { RecordReview } from '@holdpoint/contracts/task/commands';
import { continued, specFor } from '@holdpoint/runtime/testing/spec';
import { expect, test } from 'vitest';
import { histories, NODE, NOW, OPEN, OPERATOR, TASK, TERMINAL } from '../../../testing/tasks.ts';
import { taskDecider } from '../decide.ts';
import type { TaskMessage } from '../model/messages.ts';
import type { Sender } from '../model/sender.ts';
import { absent, type Task, type TaskState } from '../model/state.ts';

const given = specFor(taskDecider);
let count = 0;

const review = (change: Partial<RecordReview> = {}, sender: Sender = OPERATOR, id?: string): TaskMessage => {
  count += 1;
  return {
    kind: 'record_review',
    payload: { id: TASK, kind: 'spec', verdict: 'passed', summary: 'as agreed', by: 'ada', ...change },
    task: TASK,
    commandId: commandIdOf('record_review', id ?? String(count)),
    sender,
  };
};

const after = (...messages: readonly TaskMessage[]): Task => {
  const history = continued(taskDecider, histories.awaiting, ...messages.map((each) => [each, NOW] as const));
  return history.reduce<TaskState>((before, event) => taskDecider.evolve(before, event), absent) as Task;
};

test.each(OPEN)('a review of a task that is %s changes nothing else', (name) => {
  given(...histories[name])
    .when(review({ node: NODE, agent: 'claude' }), NOW)
    .thenEmitsLike({
      type: 'review_recorded',
      review: {
        kind: 'spec',
        verdict: 'passed',
        summary: 'as agreed',
        by: 'ada',
        agent: 'claude',
        node: NODE,
      },
    })
    .thenSends();
});

test('the state has the latest review of each kind', () => {
  const state = after(
    review(),
    review({ kind: 'quality', verdict: 'failed', summary: 'no test' }),
    review({ verdict: 'changes_requested', summary: 'a point is missing' }),
  );
  expect(state.reviews).toMatchObject({
    spec: { verdict: 'changes_requested', summary: 'a point is missing' },
    quality: { verdict: 'failed', by: 'ada' },
  });
});

test('a repeated review is recorded once', () => {
  given(...continued(taskDecider, histories.awaiting, [review({}, OPERATOR, 'same'), NOW]))
    .when(review({}, OPERATOR, 'same'), NOW)
    .thenEmits();
});

test('an unverified sender records no review', () => {
  given(...histories.awaiting)
    .when(review({}, { kind: 'unverified' }), NOW)
    .thenEmits()
    .thenAnswersError('IDENTITY_REQUIRED');
});

test.each(TERMINAL)('a task that is %s refuses reviews', (name) => {
  given(...histories[name])
    .when(review(), NOW)
    .thenEmits()
    .thenAnswersError('ORCHESTRATOR_ILLEGAL_IN_PHASE');
});

test('an unknown node refuses reviews', () => {
  given(...histories.awaiting)
    .when(review({ node: NodeId.parse('other') }), NOW)
    .thenEmits()
    .thenAnswersError('ORCHESTRATOR_UNKNOWN_NODE');
});
