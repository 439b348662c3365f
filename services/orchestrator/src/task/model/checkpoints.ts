import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { Checkpoint } from '@holdpoint/contracts/task/status';
import type { DecisionBuilder } from './decision-builder.ts';
import { checkpointMark } from '../evolve/task-changes.ts';
import { REASON_MAX } from '../evolve/node-ends.ts';
import { type NodeState, nodeState, type Task } from './state.ts';

type CheckpointFields = Omit<Checkpoint, 'node' | 'attempt'>;

/** Records a checkpoint, once per attempt and mark. */
export const recordCheckpoint = (
  builder: DecisionBuilder,
  node: NodeId,
  { reason, ...about }: CheckpointFields,
): void => {
  const { attempt, marks = [] } = nodeState(builder.task(), node);
  if (marks.includes(checkpointMark(about))) return;
  const text = reason.slice(0, REASON_MAX).toWellFormed();
  builder.emit({ type: 'checkpoint', node, attempt, ...about, reason: text });
};

const hasMark = (marks: readonly string[], ...kinds: readonly Checkpoint['kind'][]): boolean =>
  marks.some((mark) => kinds.some((kind) => mark.startsWith(kind)));

/** Records the checkpoint that an effect event carries beside its outcome. */
export const checkpointEffectEvent = (builder: DecisionBuilder, event: EffectEvent): void => {
  const { attempt, status } = nodeState(builder.task(), event.node);
  if (event.attempt !== attempt) return undefined;
  switch (event.type) {
    case 'duplicate_prevented': {
      const reason = `it was ordered again, and not carried out again: it is ${event.outcome.replace('_', ' ')}`;
      return recordCheckpoint(builder, event.node, { kind: 'duplicate_effect_prevented', reason });
    }
    case 'in_doubt': {
      if (event.cause !== 'worker_lost' || event.epoch < 1 || status !== 'running') return undefined;
      const { epoch, reason } = event;
      return recordCheckpoint(builder, event.node, { kind: 'worker_crash_detected', epoch, reason });
    }
    default:
      return undefined;
  }
};

/** Records that the effect is applied after its worker was lost. */
export const checkpointApplied = (builder: DecisionBuilder, node: NodeId): void => {
  const { marks = [] } = nodeState(builder.task(), node);
  const decided = hasMark(marks, 'resume_granted', 'resume_blocked');
  if (decided || !hasMark(marks, 'worker_crash_detected')) return;
  const reason = 'its worker was lost, and the executor recovered: the effect is applied';
  recordCheckpoint(builder, node, { kind: 'resume_granted', reason });
};

/** A verdict that this task cannot follow. Recovery hears the reason with the next request. */
const REFUSED = { kind: 'suggestion_refused', name: 'verdict' } as const;

export const recordRefusedVerdict = (builder: DecisionBuilder, node: NodeId, reason: string): void =>
  recordCheckpoint(builder, node, { ...REFUSED, reason });

/** Why the verdict of this attempt was refused. Undefined when it was not. */
export const refusedVerdictReason = (
  { checkpoints = [] }: Task,
  node: NodeId,
  { attempt, marks = [] }: NodeState,
): string | undefined =>
  marks.includes(checkpointMark(REFUSED))
    ? (checkpoints.findLast(
        (each) =>
          each.node === node && each.attempt === attempt && checkpointMark(each) === checkpointMark(REFUSED),
      )?.reason ?? 'the verdict cannot be followed')
    : undefined;

/** Records that a person or a rule allowed another attempt although the effect is in doubt. */
export const recordResumeGrant = (builder: DecisionBuilder, node: NodeId, reason: string): void => {
  const { inDoubt } = nodeState(builder.task(), node);
  if (inDoubt !== undefined)
    recordCheckpoint(builder, node, { kind: 'resume_granted', epoch: inDoubt.epoch, reason });
};
