import type { AttemptReport, Usage } from '@holdpoint/contracts/workflow/attempt';
import type { ApprovalId, CommandId, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import { RollbackInputs } from '@holdpoint/contracts/recovery/rollback';
import type { Checkpoint, TaskPhase } from '@holdpoint/contracts/task/status';
import { statusWord } from '@holdpoint/contracts/task/document';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import { withReview } from '@holdpoint/contracts/workflow/review';
import { withResult } from '../evidence/latest-results.ts';
import { hasWorktree } from './context.ts';
import { effectGate } from './effect-gate.ts';
import { rememberAttempt } from './earlier-attempts.ts';
import {
  nextAttempt,
  withoutUndefined,
  countsOf,
  type NodeChange,
  withDecision,
  withGrant,
  NEW_NODE,
  changeNode,
  replaceNode,
  withoutDecision,
  patchNode,
} from './node-changes.ts';
import {
  blockedNode,
  closeOpenNodes,
  contextLeftBy,
  endedNode,
  NO_ATTEMPT,
  REASON_MAX,
  withdrawalOf,
} from './node-ends.ts';
import { createNodes } from './nodes.ts';
import {
  countOf,
  nodeDefinition,
  type NodeState,
  nodeState,
  openQuestion,
  type Task,
  type TaskState,
} from './state.ts';

type Submitted = Extract<TaskEvent, { type: 'submitted' }>;

const created = (event: Submitted): Task => {
  const states = event.definition.nodes.map(
    ({ id }): NodeState => ({ ...NEW_NODE, ...event.forkedFrom?.nodes[id] }) as NodeState,
  );
  return {
    id: event.id,
    version: 1,
    phase: event.phase,
    goal: event.goal,
    acceptanceCriteria: event.acceptanceCriteria,
    inputs: event.inputs,
    requestedBy: event.requestedBy,
    ...(event.agent !== undefined && { agent: event.agent }),
    ...(event.rollbackOf && { rollbackOf: event.rollbackOf }),
    ...(event.onBehalfOf && { onBehalfOf: event.onBehalfOf }),
    ...event.evidence,
    contentDigest: event.contentDigest,
    ...(event.gate && { gate: event.gate }),
    definition: event.definition,
    ...(event.workflow !== undefined && { workflow: event.workflow }),
    ...(event.repository !== undefined && { repository: event.repository }),
    peers: Object.fromEntries((event.after ?? []).map((peer) => [peer, null])),
    watchers: [],
    submittedAt: event.at ?? 0,
    pausedByHand: false,
    nodes: createNodes(states),
    counts: countsOf(states),
    pausedNodes: 0,
    reportSerial: 1,
  };
};

/** The step that commits the worktree before a session hand-off. */
export const HANDOFF_STEP = 'handoff';
/** Marks an attempt that was deferred once: a later `deferred` is a late repeat. */
export const DEFERRED_MARK = 'deferred';

/** A repeat comes while its acknowledgement is missing, not after this many other commands. */
const COMMANDS_KEPT = 50;

/** The view shows only the latest; the history has all. */
const CHECKPOINTS_KEPT = 50;

const withCheckpoint = (task: Task, checkpoint: Checkpoint): Task => ({
  ...task,
  checkpoints: [...(task.checkpoints ?? []), checkpoint].slice(-CHECKPOINTS_KEPT),
});

type Decided = {
  readonly node: NodeId;
  readonly attempt: number;
  readonly approval: ApprovalId;
  readonly outcome: ApprovalOutcome;
  readonly by: string;
  readonly comment?: string | undefined;
  readonly payload?: JsonObject | undefined;
};

/** The event of the decision carries its checkpoint, so that the decision costs no further event. */
const withDecided = (task: Task, decided: Decided, resumes: boolean): Task => {
  const { node, attempt, approval: id, outcome: status, by, comment } = decided;
  const { revision, gate } = nodeState(task, node);
  const key = gate?.effect.idempotencyKey;
  const reached: Task = {
    ...task,
    latestApproval: { id, node, attempt, status, by, ...(comment !== undefined && { note: comment }) },
  };
  return withCheckpoint(reached, {
    kind: resumes ? 'resume_granted' : 'resume_blocked',
    node,
    attempt,
    revision,
    reason: `${status.replace('_', ' ')} by ${by}${comment === undefined ? '' : `: ${comment}`}`
      .slice(0, REASON_MAX)
      .toWellFormed(),
    payload: decided.payload ?? {
      decision: statusWord(status),
      ...(key !== undefined && { idempotency_key: key }),
    },
    by,
  });
};

/** Identifies a checkpoint within its attempt. */
export const checkpointMark = ({
  kind,
  epoch,
  revision,
  name,
}: Pick<Checkpoint, 'kind' | 'epoch' | 'revision' | 'name'>): string => {
  const of = revision === undefined ? undefined : `r${String(revision)}`;
  return [kind, epoch, of, name].filter((part) => part !== undefined).join('.');
};

const rememberCommand = (task: Task, command: CommandId | undefined): Task => {
  const { commands = [] } = task;
  return command === undefined || commands.includes(command)
    ? task
    : { ...task, commands: [...commands, command].slice(-COMMANDS_KEPT) };
};

/** A failed attempt is the result of its node; one in doubt or cancelled is none. */
const withFailure = (
  task: Task,
  { node, attempt, outcome, error }: Extract<TaskEvent, { type: 'node_failed' | 'node_ended' }>,
  text: string = error.message,
): Task =>
  outcome === 'failed' ? withResult(task, nodeDefinition(task, node), { attempt, outcome, text }) : task;

const succeeded = (task: Task, event: Extract<TaskEvent, { type: 'node_succeeded' }>): Task => {
  const { node, outputs, context, payloads, detail, exitCode, step } = event;
  const before = nodeState(task, node);
  // The effect had been applied before the request was repeated, so the request needs no answer.
  const why = before.status === 'awaiting_approval' ? 'the effect was applied' : 'the node is done';
  const kept = Object.keys(outputs).length > 0 ? outputs : undefined;
  const change: NodeChange = {
    status: 'succeeded',
    outputs: kept,
    context,
    payloads,
    detail,
    exitCode,
    report: event.report,
    reason: undefined,
  };
  const ended = endedNode(task, node, change, why, event.by === undefined ? (step ?? 'run') : undefined);
  const { attempt } = event;
  const result = { attempt, outcome: 'succeeded', text: detail, outputs, context } as const;
  // A person who takes a node as done has not reviewed it.
  const done = event.by === undefined ? withResult(ended, nodeDefinition(task, node), result) : ended;
  return rememberCommand(step === undefined ? done : addUsage(done, event.report), event.command);
};

/** Usage is counted with the step that used it. */
const addUsage = (task: Task, report: AttemptReport | undefined): Task =>
  report?.usage === undefined ? task : { ...task, spent: sumUsage(task.spent, report.usage) };

/** The hint is for the next attempt, which a verdict that gives up does not have. */
const withoutHint = ({ hint: _, ...verdict }: Verdict): Verdict => verdict;

const COUNTED = ['inputTokens', 'outputTokens', 'costUsd', 'durationMs'] as const;

const sumUsage = (spent: Usage = {}, used: Usage): Usage =>
  Object.fromEntries(
    COUNTED.flatMap((what) => {
      const sum = (spent[what] ?? 0) + (used[what] ?? 0);
      return spent[what] === undefined && used[what] === undefined ? [] : [[what, sum] as const];
    }),
  );

const stepEnded = (task: Task, { node, step, result }: Extract<TaskEvent, { type: 'step_ended' }>): Task => {
  const before = nodeState(task, node);
  const { orders = {}, done = {}, status } = before;
  // The effect had been applied before this status was reached. The attempt continues from there.
  const late =
    step === 'run' && status !== 'running'
      ? {
          status: 'running',
          reason: undefined,
          // Preparations for another attempt are obsolete.
          orders: undefined,
          preparation: undefined,
          ...withdrawalOf(before, 'the effect was applied', step),
        }
      : {};
  const open = Object.fromEntries(Object.entries(orders).filter(([, order]) => order.step !== step));
  const rest = Object.keys(open).length > 0 ? open : undefined;
  const granted = step === 'run' ? { underGrant: undefined, inDoubt: undefined } : {};
  const { usage: _, ...said } = result.report ?? {};
  // Usage is counted once, not again with the node.
  const kept = result.report === undefined ? result : { ...result, report: said };
  const change = { orders: rest, deferral: undefined, ...granted, ...late, done: { ...done, [step]: kept } };
  return addUsage(changeNode(task, node, change), result.report);
};

/** A rolled-back effect counts as not applied, both for gates and for the next order. */
const markUndone = (task: Task, inputs: JsonObject): Task => {
  const effects = new Set(RollbackInputs.parse(inputs).undo?.map(({ effect }) => effect));
  return task.definition.nodes.reduce((reached, { id }) => {
    const { gate, undone = 0 } = nodeState(reached, id);
    return gate !== undefined && effects.has(gate.effectId)
      ? changeNode(reached, id, { undone: undone + 1, ordered: undefined, appliedBefore: undefined })
      : reached;
  }, task);
};

const restarted = (task: Task, event: Extract<TaskEvent, { type: 'restarted' }>): Task => {
  const { nodes, route, hint } = event;
  let reached = task;
  for (const id of nodes) {
    const before = nodeState(reached, id);
    const loops = id === route ? (before.loops ?? 0) + 1 : route === undefined ? undefined : before.loops;
    const again = before.status === 'idle' && id !== event.node ? before.attempt : before.attempt + 1;
    const change = {
      ...(again > before.attempt && rememberAttempt(effectGate(reached, id), before)),
      ...(before.status === 'succeeded' && {
        succeededBefore: {
          attempt: before.attempt,
          ...(before.detail !== undefined && { detail: before.detail }),
        },
      }),
      attempt: again,
      loops,
      hint: hint ?? before.hint,
      ...withdrawalOf(before, 'the node restarts', id === route ? 'run' : undefined),
    };
    reached = replaceNode(reached, id, withoutUndefined(nextAttempt(before, change as Partial<NodeState>)));
  }
  const { outcome: _outcome, error: _error, ...open } = reached;
  return rememberCommand({ ...open, reportSerial: task.version + 1 }, event.command);
};

/** Applies an event, except for version and phase. */
const fold = (task: Task, event: TaskEvent): Task => {
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
            reason: `${event.outcome} by ${event.by}`,
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
      const { type: _, id: _task, phase: _phase, ...checkpoint } = event;
      const { marks = [] } = nodeState(task, event.node);
      return withCheckpoint(
        changeNode(task, event.node, { marks: [...marks, checkpointMark(checkpoint)] }),
        checkpoint,
      );
    }
    case 'review_recorded':
      return rememberCommand(withReview(task, event.review), event.command);
    case 'node_failed': {
      const before = nodeState(task, event.node);
      const failed = changeNode(task, event.node, {
        ...NO_ATTEMPT,
        ...withdrawalOf(before, 'the attempt failed', event.step ?? 'run'),
        // While the effect is in doubt, its locks stay held. So do those of a worktree, until recovery
        // decides whether the next session uses it.
        locks: event.outcome === 'in_doubt' || hasWorktree(task, event.node) ? before.locks : undefined,
        status: 'recovering',
        inDoubt: event.inDoubt,
        failure: {
          outcome: event.outcome,
          error: event.error,
          ...(event.step !== undefined && { step: event.step }),
          ...(event.cause !== undefined && { cause: event.cause }),
          ...(event.result && { result: event.result }),
          ...(event.paused !== undefined && { paused: event.paused }),
        },
        report: event.result?.report,
      });
      const reached = withFailure(failed, event, event.result?.hint);
      return event.step === undefined ? reached : addUsage(reached, event.result?.report);
    }
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
    case 'node_retrying': {
      const before = nodeState(task, event.node);
      const { gate: asked, failure } = before;
      const gate = asked && withoutDecision(asked);
      // Attempts granted by recovery or a person do not count as loops of the node's own rules.
      const ownRule =
        event.verdict === undefined && event.command === undefined && before.status !== 'escalated';
      const loops = ownRule ? (before.loops ?? 0) + 1 : before.loops;
      // Without a preview, the same grant still covers the same effect.
      const kept = { ...(gate && before.preview === undefined && { gate }), ...(failure && { failure }) };
      // The open question needs no answer any more.
      const taken = openQuestion(before) !== undefined && withdrawalOf(before, 'another attempt starts');
      const past = rememberAttempt(effectGate(task, event.node), before);
      const change = {
        ...kept,
        ...past,
        status: 'retrying' as const,
        attempt: event.attempt,
        loops,
        hint: event.hint ?? before.hint,
        ...(event.session !== undefined && { session: event.session }),
        ...taken,
      };
      return rememberCommand(
        replaceNode(task, event.node, withoutUndefined(nextAttempt(before, change as Partial<NodeState>))),
        event.command,
      );
    }
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
    case 'node_ended': {
      const { node, outcome, error, exitCode, hint, outputs, context, report, step } = event;
      const left = context === undefined && outcome !== 'unreached' ? contextLeftBy(task, node) : { context };
      const change = {
        status: outcome,
        reason: error.message,
        error,
        exitCode,
        hint,
        outputs,
        report,
        ...left,
      };
      const ended = endedNode(task, node, change, error.message, step);
      const reached = withFailure(ended, event, hint);
      return rememberCommand(step === undefined ? reached : addUsage(reached, report), event.command);
    }
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
  return { ...fold(state, event), version: state.version + 1, phase: event.phase };
};

/** An event without its id and phase. */
export type TaskChange = TaskEvent extends infer E
  ? E extends TaskEvent
    ? Omit<E, 'phase' | 'id'>
    : never
  : never;

/** The phase to which a change leads whatever it does to the task, if there is one. */
const fixedPhase = (task: Task, { type }: TaskChange): TaskPhase | undefined => {
  if (type === 'completed' || type === 'failed' || type === 'cancelled') return type;
  if (type === 'ready') return 'execution_ready';
  // Watches and ended peers do not change the phase: the task may have ended.
  return type === 'watcher_added' || type === 'peer_ended' || type === 'review_recorded'
    ? task.phase
    : undefined;
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
  const folded = fold(state, { ...change, id, phase: state.phase });
  const phase = fixedPhase(state, change) ?? phaseOf(folded);
  return { event: { ...change, id, phase }, after: { ...folded, version: state.version + 1, phase } };
};

const HAS_BEGUN: ReadonlySet<TaskPhase> = new Set(['executing', 'awaiting_approval', 'recovering']);

/** Every running node is deferred. */
const isDeferred = (task: Task): boolean =>
  (task.deferredNodes ?? 0) > 0 && task.deferredNodes === countOf(task, 'running');

const phaseOf = (task: Task): TaskPhase => {
  if (task.pausedByHand || countOf(task, 'escalated') > 0) return 'paused';
  if (task.circuit?.state === 'waiting') return 'circuit_open';
  if (countOf(task, 'awaiting_approval') > 0) return 'awaiting_approval';
  if (countOf(task, 'recovering', 'retrying') > 0) return 'recovering';
  if (isDeferred(task)) return 'circuit_open';
  // A restarted task counts as executing, even when every node is idle again.
  if (HAS_BEGUN.has(task.phase)) return 'executing';
  const untouched = countOf(task, 'idle', 'waiting');
  return untouched === task.definition.nodes.length ? 'execution_ready' : 'executing';
};
