import { errorBody } from '@holdpoint/contracts/errors';
import type { NodeId } from '@holdpoint/contracts/ids';
import type { Json } from '@holdpoint/contracts/json';
import type { TaskEvent } from '@holdpoint/contracts/task';
import { type Decider, type Decision, decision, refused } from '@holdpoint/runtime/decider';
import { askApproval, askRecovery, orderEffect, repeatDelayMs, replyTimer } from './asks.ts';
import { cancel, pause, resume, retry } from './commands.ts';
import { createDraft, type Draft } from './draft.ts';
import { evolve } from './evolve.ts';
import type { ByHand, TaskMessage } from './messages.ts';
import { isTerminal } from './phases.ts';
import { approvalResolved, effectReported, recover, retryDue } from './replies.ts';
import { absent, nodeState, type TaskState } from './state.ts';
import { submit } from './submit.ts';
import { withdraw, withdrawalConfirmed } from './withdraw.ts';
import { type BuiltInWorkflow, builtIn } from './workflows/catalog.ts';

const unknownTask = (task: string): Decision<never> =>
  refused(errorBody('ORCHESTRATOR_UNKNOWN_TASK', `no task is called ${task}`));

const decideByHand = (draft: Draft, message: ByHand, now: number): Decision<TaskEvent> => {
  const { commandId } = message;
  // A redelivery, or a sender who has not heard: whatever has happened since, it has had its effect.
  if (draft.task().commands?.includes(commandId) === true) return draft.done();
  switch (message.kind) {
    case 'cancel':
      return cancel(draft, message.payload, now);
    case 'pause':
      return pause(draft, message.payload, commandId);
    case 'resume':
      return resume(draft, message.payload, commandId, now);
    case 'retry':
      return retry(draft, message.payload, commandId, now);
  }
};

const askOf = (data: Json): number =>
  typeof data === 'object' && data !== null && 'ask' in data ? Number(data['ask']) : 1;

/** The bus may have lost question or answer: ask again, with a new message id and a longer wait. */
const repeatQuestion = (draft: Draft, node: NodeId, ask: number, now: number): void => {
  const question = questionOf(draft, node, ask);
  if (question === undefined) return;
  draft.send(question);
  draft.timer({ set: replyTimer(node), dueAt: now + repeatDelayMs(ask + 1), data: { ask: ask + 1 } });
};

const questionOf = (draft: Draft, node: NodeId, ask: number) => {
  switch (nodeState(draft.task(), node).status) {
    case 'awaiting_approval':
      return askApproval(draft.task(), node, ask);
    case 'running':
      return orderEffect(draft.task(), node, ask);
    case 'recovering':
      return askRecovery(draft.task(), node, ask);
    default:
      return undefined;
  }
};

const timerFired = (draft: Draft, name: string, data: Json, now: number): void => {
  const [purpose, node] = name.split(':') as [string, NodeId];
  if (purpose === 'withdraw') return withdraw(draft, node, now, askOf(data));
  if (isTerminal(draft.task().phase)) return;
  if (purpose === 'reply') repeatQuestion(draft, node, askOf(data), now);
  else if (purpose === 'retry') retryDue(draft, node, now);
};

/** Answers and timers have nobody to be answered; a task that is over only hears that what it withdrew is withdrawn. */
const decideReply = (
  draft: Draft,
  message: Exclude<TaskMessage, ByHand | { kind: 'submit' }>,
  now: number,
): void => {
  const open = !isTerminal(draft.task().phase);
  switch (message.kind) {
    case 'approval':
      withdrawalConfirmed(draft, message);
      return open && message.fact.type === 'resolved'
        ? approvalResolved(draft, message.fact, now)
        : undefined;
    case 'effect':
      withdrawalConfirmed(draft, message);
      return open ? effectReported(draft, message.fact, now) : undefined;
    case 'recover':
      return open ? recover(draft, message.payload, now) : undefined;
    case 'timer':
      return timerFired(draft, message.name, message.data, now);
  }
};

const decide = (
  workflows: readonly BuiltInWorkflow[],
  state: TaskState,
  message: TaskMessage,
  { now }: { readonly now: number },
): Decision<TaskEvent> => {
  switch (message.kind) {
    case 'submit':
      return submit(workflows, state, message.task, message.payload, now);
    case 'cancel':
    case 'pause':
    case 'resume':
    case 'retry':
      if (state.phase === 'absent') return unknownTask(message.task);
      return decideByHand(createDraft(state, state.id), message, now);
    case 'approval':
    case 'effect':
    case 'recover':
    case 'timer': {
      if (state.phase === 'absent') return decision({});
      const draft = createDraft(state, state.id);
      decideReply(draft, message, now);
      const { events, send, timers } = draft.done();
      return decision({ events, send, timers });
    }
  }
};

/** The task: the only writer of its phase. */
export const createTaskDecider = (
  workflows: readonly BuiltInWorkflow[],
): Decider<TaskState, TaskMessage, TaskEvent> => ({
  initial: absent,
  evolve,
  decide: (state, message, at) => decide(workflows, state, message, at),
});

/** The task, of any workflow that ships with Holdpoint. */
export const taskDecider = createTaskDecider(builtIn);
