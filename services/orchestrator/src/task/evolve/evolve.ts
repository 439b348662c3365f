import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { withReview } from '@holdpoint/contracts/workflow/review';
import { unknownEvent } from '@holdpoint/runtime/decider';
import { attemptFailed, ended, stepEnded, succeeded } from './attempt-results.ts';
import { decisionText } from '../model/earlier-attempts.ts';
import {
  type NodeChange,
  changeNode,
  patchNode,
  replaceNode,
  withDecision,
  withGrant,
} from './node-changes.ts';
import {
  NO_ATTEMPT,
  blockedNode,
  closeOpenNodes,
  contextLeftBy,
  endedNode,
  withdrawalOf,
} from './node-ends.ts';
import { fixedPhase, phaseOf } from './phases.ts';
import { markUndone, restarted, retried } from './retries.ts';
import { type Task, type TaskChange, type TaskState, nodeState } from '../model/state.ts';
import { checkpointMark, created, rememberCommand, withCheckpoint, withDecided } from './task-changes.ts';

/** The step that commits the worktree before a session hand-off. */
export const HANDOFF_STEP = 'handoff';
/** Marks an attempt that was deferred once: a later `deferred` is a late repeat. */
export const DEFERRED_MARK = 'deferred';

/** The hint is for the next attempt, which a verdict that gives up does not have. */
const withoutHint = ({ hint: _, ...verdict }: Verdict): Verdict => verdict;

/** Applies a change, except for version and phase. */
const fold = (task: Task, event: TaskChange): Task => {
  switch (event.type) {
    case 'submitted':
    case 'cancelled_before_submission':
    case 'ready':
      return task;
    case 'completed':
      return { ...task, outcome: 'succeeded', reportSerial: task.version + 1 };
    case 'cancelled':
      return { ...closeOpenNodes(task, event.reason, 'cancelled'), outcome: 'cancelled' };
    case 'failed': {
      const why = `the task failed: ${event.error.message}`;
      return {
        ...closeOpenNodes(task, why, 'blocked'),
        error: event.error,
        outcome: event.outcome ?? 'failed',
      };
    }
    case 'approval_requested': {
      const { approval, effectId, effect, digest, revision, attempt, prompt: asked, evidence } = event;
      const latestApproval = { id: approval, node: event.node, attempt, status: 'pending' } as const;
      return changeNode({ ...task, latestApproval }, event.node, {
        status: 'awaiting_approval',
        wait: undefined,
        attempt,
        revision,
        underGrant: undefined,
        deferral: undefined,
        gate: { approval, effectId, effect, digest, ...(asked && { asked }), ...(evidence && { evidence }) },
      });
    }
    case 'approval_closed': {
      const decided = withDecided(task, event, event.resumes === true);
      return event.grant === undefined
        ? patchNode(decided, event.node, {
            reason: decisionText({ outcome: event.outcome, by: event.by }),
            ...withDecision(task, event),
          })
        : patchNode(decided, event.node, {
            status: 'approved',
            ...withGrant(task, event.node, event.grant, event.validUntil ?? 0),
          });
    }
    case 'effect_ordered': {
      const { granted } = event;
      const decided =
        granted === undefined ? task : withDecided(task, { ...event, ...granted, outcome: 'approved' }, true);
      return changeNode(decided, event.node, {
        status: 'running',
        ordered: true,
        underGrant: true,
        wait: undefined,
        attempt: event.attempt,
        ...withGrant(task, event.node, event.grant, event.validUntil),
      });
    }
    case 'node_waiting': {
      const { status } = nodeState(task, event.node);
      const starts = status === 'idle' || status === 'retrying';
      return patchNode(task, event.node, { ...(starts && { status: 'waiting' }), wait: event.wait });
    }
    case 'artifacts_updated':
      return changeNode(task, event.node, { artifactStates: event.artifactStates });
    case 'node_inspected': {
      const { orders: _, ...before } = nodeState(task, event.node);
      const { artifacts, unmet } = event;
      return replaceNode(task, event.node, {
        ...before,
        inspected: { artifacts, ...(unmet !== undefined && { unmet }) },
      });
    }
    case 'node_previewed':
      return changeNode(task, event.node, {
        status: 'waiting',
        orders: undefined,
        preview: event.preview,
        context: event.context,
      });
    case 'node_started':
      return changeNode(task, event.node, { status: 'running', wait: undefined, items: event.items });
    case 'locks_requested':
      return patchNode(task, event.node, { status: 'locking', locks: 'wanted' });
    case 'locks_acquired':
      return changeNode(task, event.node, { locks: 'held', wait: undefined });
    case 'step_ordered': {
      const { node, step, effectId, effect, digest, attempt } = event;
      const { orders = {}, looks = 0, wait } = nodeState(task, node);
      const before = step === 'inspect' || step === 'preview';
      return changeNode(task, node, {
        attempt,
        status: before ? 'waiting' : step === HANDOFF_STEP ? 'recovering' : 'running',
        orders: { ...orders, [effectId]: { step, effect, digest } },
        looks: step === 'inspect' ? looks + 1 : looks === 0 ? undefined : looks,
        wait: before ? wait : undefined,
      });
    }
    case 'step_ended':
      return stepEnded(task, event);
    case 'node_succeeded':
      return succeeded(task, event);
    case 'in_doubt_asked': {
      const { approval, effectId, epoch, question, reason } = event;
      const before = nodeState(task, event.node);
      return changeNode(task, event.node, {
        ...NO_ATTEMPT,
        locks: before.locks,
        status: 'escalated',
        reason: before.status === 'escalated' ? before.reason : reason,
        // An answer to the previous question would refer to another start of the effect.
        ...(before.inDoubt?.epoch !== epoch &&
          withdrawalOf(before, 'the effect is in doubt again, for another start', 'run')),
        inDoubt: { effectId, epoch, reason, approval },
        questions: question,
      });
    }
    case 'in_doubt_answered': {
      const { inDoubt } = nodeState(task, event.node);
      const { answer, by, statement } = event;
      const again: NodeChange = {
        status: 'running',
        underGrant: true,
        reason: undefined,
        failure: undefined,
      };
      return changeNode(task, event.node, {
        ...(answer === 'retry' && again),
        inDoubt: inDoubt && { ...inDoubt, answered: { answer, by, statement } },
      });
    }
    case 'checkpoint': {
      const { type: _, ...checkpoint } = event;
      const { marks = [] } = nodeState(task, event.node);
      return withCheckpoint(
        changeNode(task, event.node, { marks: [...marks, checkpointMark(checkpoint)] }),
        checkpoint,
      );
    }
    case 'review_recorded':
      return rememberCommand(withReview(task, event.review), event.command);
    case 'node_failed':
      return attemptFailed(task, event);
    case 'rollback_ordered': {
      const { by, inputs, verdict } = event;
      // The rollback task acquires the locks itself.
      return changeNode(task, event.node, {
        locks: undefined,
        preparation: { kind: 'rollback', by, inputs, verdict },
      });
    }
    case 'rollback_ended': {
      const { preparation } = nodeState(task, event.node);
      const reached = changeNode(task, event.node, { preparation: undefined });
      return event.outcome === 'succeeded' && preparation?.kind === 'rollback'
        ? markUndone(reached, preparation.inputs)
        : reached;
    }
    case 'handoff_ordered':
      return changeNode(task, event.node, { preparation: { kind: 'continue', verdict: event.verdict } });
    case 'stuck_asked': {
      const { approval, effectId, effect, digest, question } = event;
      return changeNode(task, event.node, {
        stuck: { approval, effectId, effect, digest },
        questions: question,
      });
    }
    case 'stuck_answered':
      return changeNode(task, event.node, { stuck: undefined });
    case 'node_deferred': {
      const { target, reason } = event;
      const { marks = [] } = nodeState(task, event.node);
      return changeNode(task, event.node, { deferral: { target, reason }, marks: [...marks, DEFERRED_MARK] });
    }
    case 'node_undeferred':
      return changeNode(task, event.node, { deferral: undefined });
    case 'deferred':
      return { ...task, circuit: { name: event.circuit, state: 'waiting' } };
    case 'undeferred': {
      const { circuit: _, ...rest } = task;
      return event.trial ? { ...rest, circuit: { name: event.circuit, state: 'trial' } } : rest;
    }
    case 'budget_extended':
      return { ...task, extensions: (task.extensions ?? 0) + 1 };
    case 'node_retrying':
      return retried(task, event);
    case 'node_skipped':
      return rememberCommand(
        endedNode(
          task,
          event.node,
          { status: 'skipped', reason: event.reason, ...contextLeftBy(task, event.node) },
          event.reason,
        ),
        event.command,
      );
    case 'node_blocked':
      return blockedNode(task, event.node, event.error);
    case 'node_ended':
      return ended(task, event);
    case 'node_escalated': {
      const { inDoubt: known, locks } = nodeState(task, event.node);
      // The answer has led to another state.
      const inDoubt = known?.answered === undefined ? known : undefined;
      // While the effect is in doubt, its locks stay held.
      const kept = inDoubt === undefined ? {} : { locks };
      return changeNode(task, event.node, {
        ...NO_ATTEMPT,
        ...kept,
        status: 'escalated',
        inDoubt,
        reason: event.reason,
        verdict: withoutHint(event.verdict),
      });
    }
    case 'restarted':
      return restarted(task, event);
    case 'node_paused':
      return rememberCommand(
        { ...patchNode(task, event.node, { paused: true }), pausedNodes: task.pausedNodes + 1 },
        event.command,
      );
    case 'node_resumed':
      return rememberCommand(
        { ...changeNode(task, event.node, { paused: undefined }), pausedNodes: task.pausedNodes - 1 },
        event.command,
      );
    case 'watcher_added':
      return { ...task, watchers: [...task.watchers, watcherOf(event)] };
    case 'peer_ended':
      return { ...task, peers: { ...task.peers, [peerName(event)]: event.outcome } };
    case 'paused':
      return rememberCommand({ ...task, pausedByHand: true }, event.command);
    case 'resumed':
      return rememberCommand({ ...task, pausedByHand: false }, event.command);
    default:
      return unknownEvent(event);
  }
};

const watcherOf = ({ watcher, node }: { readonly watcher: TaskId; readonly node?: NodeId | undefined }) => ({
  task: watcher,
  ...(node !== undefined && { node }),
});

/** A peer in the form in which the submission named it. */
export const peerName = ({
  peer,
  node,
}: {
  readonly peer: TaskId;
  readonly node?: NodeId | undefined;
}): string => (node === undefined ? peer : `${peer}/${node}`);

export const evolve = (state: TaskState, event: TaskEvent): TaskState => {
  if (event.type === 'submitted') return created(event);
  if (event.type === 'cancelled_before_submission') return { phase: 'absent', tombstone: true };
  if (state.phase === 'absent') throw new Error(`event ${event.type} of a task that was never submitted`);
  const { id: _, phase, ...change } = event;
  return { ...fold(state, change), version: state.version + 1, phase };
};

/**
 * The event of a change with the phase to which it leads, and the state after it. Precedence of phases: end, waits for a
 * person, runs by itself.
 */
export const advanceBy = (
  state: TaskState,
  id: TaskId,
  change: TaskChange,
): { readonly event: TaskEvent; readonly after: TaskState } => {
  if (change.type === 'submitted' || state.phase === 'absent') {
    const event: TaskEvent = { ...change, id, phase: 'queued' };
    return { event, after: evolve(state, event) };
  }
  const folded = fold(state, change);
  const phase = fixedPhase(state, change.type) ?? phaseOf(folded);
  return { event: { ...change, id, phase }, after: { ...folded, version: state.version + 1, phase } };
};
