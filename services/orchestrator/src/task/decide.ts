import { isEndPhase } from '@holdpoint/contracts/task/status';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { EffectId, NodeId } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import {
  type Decider,
  type Decision,
  decision,
  type Outgoing,
  refused,
  resendsOf,
} from '@holdpoint/runtime/decider';
import { requestApproval, requestInDoubtAnswer, requestStuckAnswer } from './outgoing/approval-requests.ts';
import { requireArtifacts, acquireLocks } from './outgoing/registry-requests.ts';
import { assessFailure } from './outgoing/recovery-requests.ts';
import { CIRCUIT_TIMER, PEERS_TIMER, REPORT_TIMER } from './outgoing/outgoing.ts';
import { orderEffect, orderStep, resolveInDoubt } from './outgoing/effect-orders.ts';
import { CALLBACK_TIMER, callbackTaken, resendCallback } from './outgoing/callback.ts';
import { onCircuitState, requestCircuit } from './outgoing/circuits.ts';
import { cancel, done, pause, resume, retry, skip } from './operator/commands.ts';
import { commandRefusal } from './operator/may-command.ts';
import { recordNote } from './operator/record-checkpoint.ts';
import { recordReview } from './operator/record-review.ts';
import { createDecisionBuilder, type DecisionBuilder } from './model/decision-builder.ts';
import { sendArtifactReport } from './graph/ending.ts';
import { evolve } from './evolve/evolve.ts';
import { onNotification, watchAbsent, onWatch } from './replies/on-peer-changed.ts';
import type { OperatorCommand, ForkTask, TaskMessage } from './model/messages.ts';
import { watchPeers } from './outgoing/watch-peers.ts';
import { failOnExpressionError, inspectRepository } from './graph/start-when-ready.ts';
import { onApprovalResolved } from './replies/on-approval-resolved.ts';
import { onVerdict, onRetryDue, stuckJobReply, replyStuckJob } from './replies/on-verdict.ts';
import { onEffectEvent } from './replies/on-effect-event.ts';
import { rollbackCommands } from './replies/rollback.ts';
import { advance } from './graph/advance.ts';
import { startReplyTimer } from './graph/steps.ts';
import { outsideNeeds } from './model/artifact-status.ts';
import { type Absent, absent, findNode, nodeState, type TaskState } from './model/state.ts';
import { TASK_TIMING, type TaskTiming } from './model/timing.ts';
import { fork, type ShippedDefaults, submit } from './submit.ts';
import { withdraw, withdrawalConfirmed } from './outgoing/withdraw.ts';
import { type BuiltInWorkflow, builtIn } from '../workflows/catalog.ts';

const unknownTask = (task: string): Decision<never> =>
  refused(errorBody('ORCHESTRATOR_UNKNOWN_TASK', `unknown task: ${task}`));

const decideOperatorCommand = (builder: DecisionBuilder, message: OperatorCommand): Decision<TaskEvent> => {
  const { commandId } = message;
  // A redelivered command, or a sender's retry. Its effect is already recorded.
  if (builder.task().commands?.includes(commandId) === true) return builder.done();
  const refusal = commandRefusal(builder.task(), message);
  if (refusal !== undefined) return refused(refusal);
  switch (message.kind) {
    case 'cancel':
      return cancel(builder, message.payload, commandId);
    case 'pause':
      return pause(builder, message.payload, commandId);
    case 'resume':
      return resume(builder, message.payload, commandId);
    case 'skip':
      return skip(builder, message.payload, commandId);
    case 'retry':
      return retry(builder, message.payload, commandId);
    case 'done':
      return done(builder, message.payload, commandId);
    case 'checkpoint':
      return recordNote(builder, message.payload);
    case 'record_review':
      return recordReview(builder, message.payload, commandId);
  }
};

/**
 * The bus may have lost the command or its reply, so send it again with a new message id and a longer delay.
 */
const resendCommands = (builder: DecisionBuilder, node: NodeId, resends: number): void => {
  const questions = pendingCommands(builder, node, resends);
  if (questions.length === 0) return;
  for (const question of questions) builder.send(question);
  startReplyTimer(builder, node, resends);
};

/** The commands of a node that have no reply yet. */
const pendingCommands = (builder: DecisionBuilder, node: NodeId, resends: number): readonly Outgoing[] => {
  const task = builder.task();
  const { status, orders, underGrant, inDoubt, preparation, stuck } = nodeState(task, node);
  const steps = Object.keys(orders ?? {}).map((id) => orderStep(task, node, id as EffectId, resends));
  switch (status) {
    case 'awaiting_approval':
      return [requestApproval(task, node, resends)];
    case 'running':
      // After a person answered `retry`, the executor has the order but still needs the answer.
      if (inDoubt?.answered !== undefined) return [resolveInDoubt(task, node, resends), ...steps];
      return underGrant ? [orderEffect(task, node, resends), ...steps] : steps;
    case 'recovering':
      return preparation === undefined
        ? [assessFailure(task, node, resends)]
        : [...rollbackCommands(task, node, resends), ...steps];
    case 'escalated':
      if (stuck !== undefined) return [requestStuckAnswer(task, node, resends)];
      if (inDoubt?.approval === undefined) return [];
      return [
        inDoubt.answered === undefined
          ? requestInDoubtAnswer(task, node, resends)
          : resolveInDoubt(task, node, resends),
      ];
    case 'locking':
      return [acquireLocks(task, node, resends)];
    case 'waiting':
      return needsRegistry(builder, node) ? [requireArtifacts(task, node, resends), ...steps] : steps;
    default:
      return [];
  }
};

const needsRegistry = (builder: DecisionBuilder, node: NodeId): boolean =>
  nodeState(builder.task(), node).wait?.kind === 'artifacts' && outsideNeeds(builder.task(), node).length > 0;

const onTimer = (builder: DecisionBuilder, name: string, data: Json): void => {
  const [purpose = '', node = '', of] = name.split(':') as [string?, NodeId?, string?];
  if (purpose === REPORT_TIMER) return sendArtifactReport(builder, resendsOf(data));
  if (purpose === 'withdraw') return withdraw(builder, node as NodeId, resendsOf(data), of);
  if (purpose === CALLBACK_TIMER) return resendCallback(builder, node, of ?? '', resendsOf(data));
  if (isEndPhase(builder.task().phase)) return undefined;
  if (purpose === PEERS_TIMER) return watchPeers(builder, resendsOf(data));
  if (purpose === CIRCUIT_TIMER) return requestCircuit(builder, resendsOf(data));
  const id = node as NodeId;
  if (findNode(builder.task(), id) === undefined) return undefined;
  if (purpose === 'reply') return resendCommands(builder, id, resendsOf(data));
  if (purpose === 'retry') return onRetryDue(builder, id);
  if (purpose === 'look' && nodeState(builder.task(), id).status === 'waiting')
    return failOnExpressionError(builder, id, () => inspectRepository(builder, id));
  return undefined;
};

type Reply = Exclude<TaskMessage, OperatorCommand | ForkTask | { kind: 'submit' }>;

/** Replies and timers have no caller. An ended task only hears that its withdrawals are confirmed. */
const decideReply = (builder: DecisionBuilder, message: Reply): void => {
  const open = !isEndPhase(builder.task().phase);
  switch (message.kind) {
    case 'approval':
      withdrawalConfirmed(builder, message);
      return open && message.event.type === 'resolved'
        ? onApprovalResolved(builder, message.event)
        : undefined;
    case 'effect':
      withdrawalConfirmed(builder, message);
      return open ? onEffectEvent(builder, message.event) : undefined;
    case 'recover':
      return open ? onVerdict(builder, message.payload) : replyStuckJob(builder, message.payload);
    case 'circuit_state':
      return onCircuitState(builder, message.payload);
    case 'watch':
      return onWatch(builder, message.payload);
    case 'callback_taken':
      return callbackTaken(builder, message.payload.callback);
    case 'notify':
      return onNotification(builder, message.payload.notification);
    case 'timer':
      return onTimer(builder, message.name, message.data);
  }
};

/**
 * With `ifOpen`, an unknown task gets a tombstone: its submission may still be on its way, and must not start it.
 * Without it the id is more likely a mistake.
 */
const cancelAbsent = (
  { tombstone }: Absent,
  { task: id, payload }: Extract<OperatorCommand, { readonly kind: 'cancel' }>,
): Decision<TaskEvent> => {
  const answer = { ok: { id, phase: 'cancelled', version: 1 } };
  if (tombstone) return decision({ answer });
  if (payload.ifOpen !== true || payload.node !== undefined) return unknownTask(id);
  const { by = 'unknown', reason = 'cancelled by hand' } = payload;
  return decision({
    events: [{ type: 'cancelled_before_submission', id, phase: 'cancelled', by, reason }],
    answer,
  });
};

/** Without a task, only two senders need a reply: a watcher, and recovery, which lists the job as stuck. */
const decideAbsent = ({ tombstone }: Absent, message: Reply, now: number): Decision<TaskEvent> => {
  if (message.kind === 'watch')
    return decision({ send: [watchAbsent(message.payload, tombstone ? 'cancelled' : 'unknown', now)] });
  return message.kind === 'recover' ? decision({ send: stuckJobReply(message.payload, now) }) : decision({});
};

const decide = (
  shipped: ShippedDefaults,
  state: TaskState,
  message: TaskMessage,
  { now }: { readonly now: number },
): Decision<TaskEvent> => {
  switch (message.kind) {
    case 'submit':
      return submit(shipped, state, message, now);
    case 'fork':
      return fork(shipped, state, message, now);
    case 'cancel':
    case 'pause':
    case 'resume':
    case 'skip':
    case 'retry':
    case 'done':
    case 'checkpoint':
    case 'record_review':
      if (state.phase === 'absent')
        return message.kind === 'cancel' ? cancelAbsent(state, message) : unknownTask(message.task);
      return decideOperatorCommand(createDecisionBuilder(state, state.id, now, shipped.timing), message);
    case 'approval':
    case 'effect':
    case 'recover':
    case 'circuit_state':
    case 'watch':
    case 'notify':
    case 'callback_taken':
    case 'timer': {
      if (state.phase === 'absent') return decideAbsent(state, message, now);
      const builder = createDecisionBuilder(state, state.id, now, shipped.timing);
      decideReply(builder, message);
      if (!isEndPhase(builder.task().phase)) advance(builder);
      const { events, send, timers, after } = builder.done();
      return decision({ events, send, timers, after });
    }
  }
};

/** The decider of graph tasks, and the only writer of their phase. */
export const createTaskDecider = (
  workflows: readonly BuiltInWorkflow[],
  gate?: ShippedDefaults['gate'],
  timing: TaskTiming = TASK_TIMING,
): Decider<TaskState, TaskMessage, TaskEvent> => ({
  initial: absent,
  evolve,
  decide: (state, message, at) => decide({ workflows, gate, timing }, state, message, at),
});

export const taskDecider = createTaskDecider(builtIn);
