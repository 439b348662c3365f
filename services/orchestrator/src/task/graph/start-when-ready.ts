import { artifactLabel, scopeOf } from '@holdpoint/contracts/workflow/artifact';
import { CAPABILITIES } from '@holdpoint/contracts/effect/capabilities';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { approvalIdOf, effectIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import type { WaitKind } from '@holdpoint/contracts/task/status';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { ExpressionError } from '@holdpoint/workflows/expression/expression';
import { askApproval, askArtifacts, askLocks, titleOf } from '../outgoing/outgoing.ts';
import { extendBudget, isBudgetGranted, needsMore } from '../model/budget.ts';
import { checkpoint } from '../model/checkpoints.ts';
import { decidedHere, isDecidedHere } from '../model/control-nodes.ts';
import type { Draft } from '../model/decision-builder.ts';
import { gatedOf, lookOf, workOf } from '../outgoing/node-effects.ts';
import { endNode } from './ending.ts';
import { finish } from './finish.ts';
import { openingOf, roomBeside } from '../outgoing/gate-request.ts';
import { foreignNeeds, standingOf } from '../model/artifact-status.ts';
import { nodeDefinition, nodeState } from '../model/state.ts';
import { awaitReply, isSingle, itemsOf, orderSteps, orderWork, progressOf } from './steps.ts';

/** A grant that ends this soon is not used: the order has to reach the executor while it is valid. */
const GRANT_MARGIN_MS = 5_000;

/**
 * Takes a node whose turn has come in the graph as far as it goes: artifacts, preconditions, approval, locks, and then its
 * steps, always looked at in this order. The first that is missing is what it waits for.
 */
export const proceed = (draft: Draft, id: NodeId): void => {
  const node = nodeDefinition(draft.task(), id);
  attempt(draft, id, () => {
    if (hasNeeds(draft, node) && isPreviewed(draft, node) && isApproved(draft, node) && isLocked(draft, node))
      start(draft, node);
  });
};

/** What a template says wrongly is found out when it is worked out; that is the end of the node. */
export const attempt = (draft: Draft, id: NodeId, work: () => void): void => {
  try {
    work();
  } catch (error) {
    if (!(error instanceof ExpressionError) && !(error instanceof RangeError)) throw error;
    const body = errorBody('NODE_EXPRESSION', error.message);
    const { attempt: number } = nodeState(draft.task(), id);
    endNode(draft, { type: 'node_ended', node: id, attempt: number, outcome: 'failed', error: body });
  }
};

const wait = (draft: Draft, id: NodeId, kind: WaitKind, detail: string): false => {
  const { wait: before, attempt: number } = nodeState(draft.task(), id);
  if (before?.kind !== kind || before.detail !== detail)
    draft.emit({ type: 'node_waiting', node: id, attempt: number, wait: { kind, detail } });
  return false;
};

const block = (draft: Draft, id: NodeId, detail: string): false => {
  const { attempt: number } = nodeState(draft.task(), id);
  const error = errorBody('NODE_BLOCKED', detail);
  endNode(draft, { type: 'node_ended', node: id, attempt: number, outcome: 'blocked', error });
  return false;
};

const hasNeeds = (draft: Draft, node: NodeDefinition): boolean => {
  const { needs = [], preconditions = [] } = node;
  if (needs.length === 0 && preconditions.length === 0) return true;
  if (needs.some((artifact) => isForeign(draft, node.id, artifact)) && asksFirst(draft, node)) return false;
  const waits = draft.task().definition.policy?.missingProducer === 'wait';
  for (const artifact of needs) {
    const label = artifactLabel(artifact);
    const standing = standingOf(draft.task(), node.id, artifact);
    switch (standing.kind) {
      case 'there':
        break;
      case 'coming':
        return wait(draft, node.id, 'artifacts', `waiting on ${label} (${standing.by})`);
      case 'unknown':
        asksFirst(draft, node);
        return wait(draft, node.id, 'artifacts', `looking for ${label}`);
      case 'failed':
      case 'missing': {
        // Nobody outside of the run can make what belongs to the run.
        if (waits && scopeOf(artifact) !== 'run' && draft.task().repository !== undefined)
          return wait(draft, node.id, 'artifacts', `awaiting producer for ${label}`);
        const why = standing.kind === 'failed' ? `dependency failed for ${label}` : `missing ${label}`;
        return block(draft, node.id, why);
      }
    }
  }
  if (preconditions.length === 0) return true;
  if (draft.task().repository === undefined)
    return block(draft, node.id, 'its preconditions are about a repository, and the task has none');
  const { inspected } = nodeState(draft.task(), node.id);
  if (inspected === undefined) {
    asksFirst(draft, node);
    return wait(draft, node.id, 'preconditions', 'looking into the repository');
  }
  return inspected.unmet === undefined || wait(draft, node.id, 'preconditions', inspected.unmet);
};

const isForeign = (
  draft: Draft,
  id: NodeId,
  artifact: NonNullable<NodeDefinition['needs']>[number],
): boolean => standingOf(draft.task(), id, artifact).kind === 'unknown';

/** Asks the repository and the board, whichever has not been asked yet. True when there is something to wait for. */
const asksFirst = (draft: Draft, node: NodeDefinition): boolean => {
  const task = draft.task();
  if (task.repository === undefined) return false;
  const { inspected, standings, orders, looks } = nodeState(task, node.id);
  const looksAt =
    node.preconditions !== undefined ||
    (node.needs ?? []).some((artifact) => scopeOf(artifact) === 'repository');
  const mayLook = looksAt && inspected === undefined;
  const asksBoard = standings === undefined && foreignNeeds(task, node.id).length > 0;
  if (asksBoard && looks === undefined && orders === undefined) {
    draft.send(askArtifacts(task, node.id, 0));
    wait(draft, node.id, 'artifacts', 'asking who makes what it needs');
    awaitReply(draft, node.id);
  }
  if (mayLook && orders === undefined) look(draft, node.id);
  return mayLook || asksBoard;
};

/** Has the executor look into the repository. */
export const look = (draft: Draft, id: NodeId): void => {
  if (nodeState(draft.task(), id).orders === undefined)
    orderWork(draft, id, 'inspect', lookOf(draft.task(), id));
};

/** What an effect would do is known before anybody is asked about it. */
const isPreviewed = (draft: Draft, node: NodeDefinition): boolean => {
  const preview = node.effect && CAPABILITIES[node.uses]?.preview;
  const { preview: seen, orders } = nodeState(draft.task(), node.id);
  if (preview === undefined || seen !== undefined) return true;
  const plan = { step: 'preview', uses: preview, args: node.args };
  if (orders === undefined) orderWork(draft, node.id, 'preview', workOf(draft.task(), node.id, plan));
  return false;
};

/**
 * Whether nobody has to be asked, or has been and has let it. A budget that is used up several times over is extended as
 * often. Whoever has asked for locks was let start: asking people with locks in hand would hold up everybody who wants them.
 */
const isApproved = (draft: Draft, node: NodeDefinition): boolean => {
  const { gate, status, locks } = nodeState(draft.task(), node.id);
  const wantsMore = (): boolean => locks === undefined && needsMore(draft.task(), node);
  const isExtended = wantsMore() && isBudgetGranted(draft.task(), node);
  if (isExtended) extendBudget(draft, node);
  if (!wantsMore()) {
    if (isExtended || (node.effect === undefined && node.approval === undefined)) return true;
    // The start of a node is not bound to a time; an effect is, and the executor holds it to that.
    const until = node.effect === undefined ? Infinity : (gate?.grant?.validUntil ?? 0);
    if (gate?.grant !== undefined && until > draft.now + GRANT_MARGIN_MS) return true;
  }
  if (status !== 'awaiting_approval') requestApproval(draft, node.id);
  return false;
};

/** Asks for a decision on the effect, anew if it was asked before. Throws `ExpressionError`, and `RangeError`. */
export const requestApproval = (draft: Draft, id: NodeId): void => {
  const { id: task } = draft.task();
  const state = nodeState(draft.task(), id);
  const effect = gatedOf(draft.task(), id);
  const revision = state.revision + 1;
  const about = { effect, digest: effectDigest(effect), revision };
  roomBeside(effect);
  const opening = openingOf(draft.task(), id, about, titleOf(draft.task(), effect));
  draft.emit({
    type: 'approval_requested',
    node: id,
    attempt: state.attempt,
    revision,
    approval: approvalIdOf(task, id, revision),
    effectId: effectIdOf(task, id, effect.idempotencyKey),
    effect,
    digest: about.digest,
    ...(opening && { asked: opening.asked }),
  });
  for (const note of opening?.notes ?? []) checkpoint(draft, id, { kind: 'noted', revision, ...note });
  draft.send(askApproval(draft.task(), id, 0));
  awaitReply(draft, id);
};

const isLocked = (draft: Draft, { id, locks = [] }: NodeDefinition): boolean => {
  if (locks.length === 0 || draft.task().repository === undefined) return true;
  const { locks: held, attempt: number } = nodeState(draft.task(), id);
  if (held === 'held') return true;
  if (held === undefined) {
    draft.emit({ type: 'locks_requested', node: id, attempt: number });
    draft.send(askLocks(draft.task(), id, 0));
    awaitReply(draft, id);
  }
  return false;
};

const start = (draft: Draft, node: NodeDefinition): void => {
  const { attempt: number, items } = nodeState(draft.task(), node.id);
  if (isDecidedHere(node) && isSingle(node)) return finish(draft, node.id, decidedHere(node));
  if (node.forEach !== undefined && items === undefined) {
    const list = itemsOf(draft.task(), node) ?? [];
    draft.emit({ type: 'node_started', node: node.id, attempt: number, items: [...list] });
  }
  return goOn(draft, node.id);
};

/** Orders the next steps of the attempt, or ends it. */
export const goOn = (draft: Draft, id: NodeId): void => {
  const progress = progressOf(draft.task(), id);
  switch (progress.kind) {
    case 'order':
      return orderSteps(draft, id, progress.steps);
    case 'await':
      return undefined;
    case 'ended': {
      // Where the steps have left things is known from each of them in turn.
      const { context: _, ...result } = progress.result;
      return finish(draft, id, result);
    }
  }
};
