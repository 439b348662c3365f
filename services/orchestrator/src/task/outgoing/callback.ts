import { isEndPhase } from '@holdpoint/contracts/task/status';
import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { HELD_NODE, HELD_WORKFLOW } from '@holdpoint/contracts/effect/hold';
import { type HeldTask, heldEffectOf } from '@holdpoint/contracts/task/held-effect';
import { type CallbackId, callbackIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import { type CallBack, NamedCallback } from '@holdpoint/contracts/webhook/callback';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { nodeState, openQuestion, type Task } from '../model/state.ts';

/** Why a held effect is called back: it ended, or a person has to tell whether it happened. */
type Occasion = 'ended' | 'in_doubt';

export const CALLBACK_TIMER = 'callback';
const timerOf = (occasion: Occasion, id: string): string => `${CALLBACK_TIMER}:${occasion}:${id}`;

const NODE = HELD_NODE as NodeId;

const shownOf = (task: Task): HeldTask => {
  const { status, verdict, gate, outputs, failure } = nodeState(task, NODE);
  const { id, phase, latestApproval, error } = task;
  return {
    id,
    phase,
    ...(latestApproval && { latestApproval }),
    ...(error && { error }),
    nodes: [
      {
        id: NODE,
        status,
        verdict,
        approval: gate?.approval,
        effect: gate?.effectId,
        outputs,
        error: failure?.error,
      },
    ],
  };
};

/** Orders the callback that the submission of a held effect names, and repeats the order until it is taken. */
export const sendCallback = (
  builder: DecisionBuilder,
  occasion: Occasion,
  known?: CallbackId,
  resends = 0,
): void => {
  const task = builder.task();
  if (task.inputs['callback'] === undefined || task.definition.id !== HELD_WORKFLOW) return;
  const { data } = NamedCallback.safeParse(task.inputs);
  if (data === undefined) return;
  const id = known ?? callbackIdOf(task.id, task.version);
  const { capability, key, callback } = data;
  const ledger = occasion === 'in_doubt' ? { state: 'in_doubt' as const } : undefined;
  const order: CallBack = {
    id,
    task: task.id,
    callback,
    held: heldEffectOf({ capability, key, task: shownOf(task), ledger }),
    at: builder.now,
  };
  builder.send({
    subject: subjects.approvalCommand('call_back'),
    id: `approval.call_back.${id}.${String(resends)}`,
    type: eventType('approval', 'call_back'),
    data: order,
  });
  builder.resendTimer(timerOf(occasion, id), resends);
};

/** An effect that is no longer in doubt, or was taken up again, has another callback later. */
export const resendCallback = (
  builder: DecisionBuilder,
  occasion: string,
  id: string,
  resends: number,
): void => {
  const task = builder.task();
  const isDue =
    occasion === 'ended'
      ? isEndPhase(task.phase)
      : !isEndPhase(task.phase) && openQuestion(nodeState(task, NODE)) !== undefined;
  if (isDue) sendCallback(builder, occasion as Occasion, id as CallbackId, resends);
};

export const callbackTaken = (builder: DecisionBuilder, id: CallbackId): void => {
  for (const occasion of ['ended', 'in_doubt'] as const) builder.timer({ clear: timerOf(occasion, id) });
};
