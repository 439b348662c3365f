import { artifactLabel, scopeOf } from '@holdpoint/contracts/workflow/artifact';
import { argumentProblems } from '@holdpoint/contracts/effect/arguments';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { approvalIdOf, effectIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import type { WaitKind } from '@holdpoint/contracts/task/status';
import { evidenceOf } from '@holdpoint/contracts/workflow/review';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { ExpressionError } from '@holdpoint/workflows/expression/expression';
import { requestApproval, titleOf } from '../outgoing/approval-requests.ts';
import { requireArtifacts, acquireLocks } from '../outgoing/registry-requests.ts';
import { extendBudget, isBudgetGranted, needsBudget } from '../model/budget.ts';
import { recordCheckpoint } from '../model/checkpoints.ts';
import { controlResult, isControlNode } from '../model/control-nodes.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { gatedEffect, inspectionEffect, previewOf, workEffect } from '../outgoing/node-effects.ts';
import { endNode } from './ending.ts';
import { finishAttempt } from './finish.ts';
import { openGate, bytesLeftBeside } from '../outgoing/gate-request.ts';
import { outsideNeeds, artifactStatus } from '../model/artifact-status.ts';
import { nodeDefinition, nodeState } from '../model/state.ts';
import { startReplyTimer, isSingleStep, itemsOf, orderSteps, orderWork, progressOf } from './steps.ts';

/** Orders are not sent under a grant that expires this soon: they could arrive too late. */
const GRANT_MARGIN_MS = 5_000;

/**
 * Takes a node as far as it goes, in this order: artifacts, preconditions, approval, locks, steps. The node
 * waits for the first that is missing.
 */
export const startWhenReady = (builder: DecisionBuilder, id: NodeId): void => {
  const node = nodeDefinition(builder.task(), id);
  failOnExpressionError(builder, id, () => {
    if (
      hasNeeds(builder, node) &&
      isPreviewed(builder, node) &&
      isApproved(builder, node) &&
      isLocked(builder, node)
    )
      start(builder, node);
  });
};

/** An invalid expression in a template shows when it is evaluated. The node then fails. */
export const failOnExpressionError = (builder: DecisionBuilder, id: NodeId, work: () => void): void => {
  try {
    work();
  } catch (error) {
    if (!(error instanceof ExpressionError) && !(error instanceof RangeError)) throw error;
    const body = errorBody('NODE_EXPRESSION', error.message);
    const { attempt } = nodeState(builder.task(), id);
    endNode(builder, { type: 'node_ended', node: id, attempt, outcome: 'failed', error: body });
  }
};

const wait = (builder: DecisionBuilder, id: NodeId, kind: WaitKind, detail: string): false => {
  const { wait: before, attempt } = nodeState(builder.task(), id);
  if (before?.kind !== kind || before.detail !== detail)
    builder.emit({ type: 'node_waiting', node: id, attempt, wait: { kind, detail } });
  return false;
};

const block = (builder: DecisionBuilder, id: NodeId, detail: string): false => {
  const { attempt } = nodeState(builder.task(), id);
  const error = errorBody('NODE_BLOCKED', detail);
  endNode(builder, { type: 'node_ended', node: id, attempt, outcome: 'blocked', error });
  return false;
};

const hasNeeds = (builder: DecisionBuilder, node: NodeDefinition): boolean => {
  const { needs = [], preconditions = [] } = node;
  if (needs.length === 0 && preconditions.length === 0) return true;
  if (needs.some((artifact) => isForeign(builder, node.id, artifact)) && requestMissing(builder, node))
    return false;
  const waits = builder.task().definition.policy?.missingProducer === 'wait';
  for (const artifact of needs) {
    const label = artifactLabel(artifact);
    const standing = artifactStatus(builder.task(), node.id, artifact);
    switch (standing.kind) {
      case 'there':
        break;
      case 'pending':
        return wait(builder, node.id, 'artifacts', `waiting on ${label} (${standing.by})`);
      case 'unknown':
        requestMissing(builder, node);
        return wait(builder, node.id, 'artifacts', `looking for ${label}`);
      case 'failed':
      case 'missing': {
        // Only the run itself can make an artifact of the run.
        if (waits && scopeOf(artifact) !== 'run' && builder.task().repository !== undefined)
          return wait(builder, node.id, 'artifacts', `awaiting producer for ${label}`);
        const why = standing.kind === 'failed' ? `dependency failed for ${label}` : `missing ${label}`;
        return block(builder, node.id, why);
      }
    }
  }
  if (preconditions.length === 0) return true;
  if (builder.task().repository === undefined)
    return block(builder, node.id, 'preconditions need a repository, but the task has none');
  const { inspected } = nodeState(builder.task(), node.id);
  if (inspected === undefined) {
    requestMissing(builder, node);
    return wait(builder, node.id, 'preconditions', 'inspecting the repository');
  }
  return inspected.unmet === undefined || wait(builder, node.id, 'preconditions', inspected.unmet);
};

const isForeign = (
  builder: DecisionBuilder,
  id: NodeId,
  artifact: NonNullable<NodeDefinition['needs']>[number],
): boolean => artifactStatus(builder.task(), id, artifact).kind === 'unknown';

/** Queries the repository and the registry, each once. True when a reply is pending. */
const requestMissing = (builder: DecisionBuilder, node: NodeDefinition): boolean => {
  const task = builder.task();
  if (task.repository === undefined) return false;
  const { inspected, artifactStates, orders, looks } = nodeState(task, node.id);
  const looksAt =
    node.preconditions !== undefined ||
    (node.needs ?? []).some((artifact) => scopeOf(artifact) === 'repository');
  const mayLook = looksAt && inspected === undefined;
  const asksBoard = artifactStates === undefined && outsideNeeds(task, node.id).length > 0;
  if (asksBoard && looks === undefined && orders === undefined) {
    builder.send(requireArtifacts(task, node.id, 0));
    wait(builder, node.id, 'artifacts', 'asking the registry for artifacts');
    startReplyTimer(builder, node.id);
  }
  if (mayLook && orders === undefined) inspectRepository(builder, node.id);
  return mayLook || asksBoard;
};

/** Orders an inspection of the repository. */
export const inspectRepository = (builder: DecisionBuilder, id: NodeId): void => {
  if (nodeState(builder.task(), id).orders === undefined)
    orderWork(builder, id, 'inspect', inspectionEffect(builder.task(), id));
};

/** An effect with a preview is previewed before its approval is requested. */
const isPreviewed = (builder: DecisionBuilder, node: NodeDefinition): boolean => {
  const preview = previewOf(node);
  const { preview: seen, orders } = nodeState(builder.task(), node.id);
  if (preview === undefined || seen !== undefined) return true;
  const plan = { step: 'preview', uses: preview, args: node.args };
  if (orders === undefined) orderWork(builder, node.id, 'preview', workEffect(builder.task(), node.id, plan));
  return false;
};

/**
 * Whether the node needs no approval, or has it. A budget that is exceeded several times over is extended as
 * often. A node with locks was approved before: it must not block others while people decide.
 */
const isApproved = (builder: DecisionBuilder, node: NodeDefinition): boolean => {
  const { gate, status, locks } = nodeState(builder.task(), node.id);
  const wantsMore = (): boolean => locks === undefined && needsBudget(builder.task(), node);
  const isExtended = wantsMore() && isBudgetGranted(builder.task(), node);
  if (isExtended) extendBudget(builder, node);
  if (!wantsMore()) {
    if (isExtended || (node.effect === undefined && node.approval === undefined)) return true;
    // The approval of a start does not expire. The executor refuses an effect after its grant's `validUntil`.
    const until = node.effect === undefined ? Infinity : (gate?.grant?.validUntil ?? 0);
    if (gate?.grant !== undefined && until > builder.now + GRANT_MARGIN_MS) return true;
  }
  if (status !== 'awaiting_approval') openApproval(builder, node.id);
  return false;
};

/** Ends a node whose arguments every executor refuses: people need not decide about it. */
const refuseArguments = (builder: DecisionBuilder, id: NodeId, { uses, args }: CanonicalEffect): boolean => {
  const { effect } = nodeDefinition(builder.task(), id);
  // The preview is the executor's own.
  const { preview: _, ...own } = args;
  const [problem] = effect === undefined ? [] : argumentProblems(uses, own);
  if (problem === undefined) return false;
  const message = `${['args', ...problem.path].join('.')}: expected ${problem.expected}`;
  const error = errorBody('EXECUTOR_INVALID_ARGUMENTS', message);
  const { attempt } = nodeState(builder.task(), id);
  endNode(builder, { type: 'node_ended', node: id, attempt, outcome: 'failed', error });
  return true;
};

/** Opens a request for approval with the next revision. Throws `ExpressionError` and `RangeError`. */
export const openApproval = (builder: DecisionBuilder, id: NodeId): void => {
  const { id: task } = builder.task();
  const state = nodeState(builder.task(), id);
  const effect = gatedEffect(builder.task(), id);
  if (refuseArguments(builder, id, effect)) return;
  const revision = state.revision + 1;
  const about = { effect, digest: effectDigest(effect), revision };
  const opening = openGate(builder.task(), id, about, () => titleOf(builder.task(), effect));
  if (opening === undefined) bytesLeftBeside(effect);
  const evidence = evidenceOf(builder.task());
  builder.emit({
    type: 'approval_requested',
    node: id,
    attempt: state.attempt,
    revision,
    approval: approvalIdOf(task, id, revision),
    effectId: effectIdOf(task, id, effect.idempotencyKey),
    effect,
    digest: about.digest,
    ...(opening && { prompt: opening.asked }),
    ...(evidence && { evidence }),
  });
  for (const note of opening?.notes ?? [])
    recordCheckpoint(builder, id, { kind: 'noted', revision, ...note });
  builder.send(requestApproval(builder.task(), id, 0));
  startReplyTimer(builder, id);
};

const isLocked = (builder: DecisionBuilder, { id, locks = [] }: NodeDefinition): boolean => {
  if (locks.length === 0 || builder.task().repository === undefined) return true;
  const { locks: held, attempt } = nodeState(builder.task(), id);
  if (held === 'held') return true;
  if (held === undefined) {
    builder.emit({ type: 'locks_requested', node: id, attempt });
    builder.send(acquireLocks(builder.task(), id, 0));
    startReplyTimer(builder, id);
  }
  return false;
};

const start = (builder: DecisionBuilder, node: NodeDefinition): void => {
  const { attempt, items } = nodeState(builder.task(), node.id);
  if (isControlNode(node) && isSingleStep(node)) return finishAttempt(builder, node.id, controlResult(node));
  if (node.forEach !== undefined && items === undefined) {
    const list = itemsOf(builder.task(), node) ?? [];
    builder.emit({ type: 'node_started', node: node.id, attempt, items: [...list] });
  }
  return continueAttempt(builder, node.id);
};

export const continueAttempt = (builder: DecisionBuilder, id: NodeId): void => {
  const progress = progressOf(builder.task(), id);
  switch (progress.kind) {
    case 'order':
      return orderSteps(builder, id, progress.steps);
    case 'await':
      return undefined;
    case 'ended': {
      // `stepEnded` has already applied the context of every step.
      const { context: _, ...result } = progress.result;
      return finishAttempt(builder, id, result);
    }
  }
};
