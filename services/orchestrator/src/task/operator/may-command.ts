import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { isAmong } from '@holdpoint/contracts/workflow/audience';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { OperatorCommand } from '../model/messages.ts';
import type { Sender } from '../model/sender.ts';
import { findNode, nodeDefinition, nodeState, type NodeStatus, type Task } from '../model/state.ts';

/** The commands that change what a node means for its successors. */
type NodeCommand = Extract<OperatorCommand, { readonly kind: 'done' | 'skip' | 'retry' | 'cancel' }>;

const CHECK = 'control.gate.';

/** A node with an effect, an approval of its start, or a check: only a person may decide about it by hand. */
const isGuarded = ({ effect, approval, uses, on }: NodeDefinition): boolean =>
  effect !== undefined || approval !== undefined || uses.startsWith(CHECK) || on?.failed !== undefined;

/** The audience of the node: the people who may decide about it. An effect may leave its audience to the policy floor. */
const audienceOf = (task: Task, node: NodeId): readonly string[] => {
  const { effect, approval } = nodeDefinition(task, node);
  const asked = effect === undefined ? undefined : nodeState(task, node).gate?.asked?.audience;
  const audience = asked ?? effect?.audience ?? approval?.audience ?? [];
  return audience.length > 0 ? audience : ['operators'];
};

const RETRIED: ReadonlySet<NodeStatus> = new Set(['escalated', 'failed', 'blocked', 'cancelled']);

/** The guarded nodes that a command is about. To cancel a whole task only stops it, so it is open to all. */
const guardedNodes = (task: Task, { kind, payload }: NodeCommand): readonly NodeId[] => {
  const { node } = payload;
  if (node !== undefined) {
    const known = findNode(task, node) !== undefined;
    return known && isGuarded(nodeDefinition(task, node)) ? [node] : [];
  }
  if (kind !== 'retry') return [];
  return task.definition.nodes
    .filter((each) => isGuarded(each) && RETRIED.has(nodeState(task, each.id).status))
    .map(({ id }) => id);
};

const isNodeCommand = (command: OperatorCommand): command is NodeCommand =>
  command.kind === 'done' || command.kind === 'skip' || command.kind === 'retry' || command.kind === 'cancel';

const required = (node: NodeId, sender: Sender): ErrorBody => {
  const found =
    sender.kind === 'person' ? `${sender.agent ?? sender.name} is an agent` : 'the sender is unverified';
  return errorBody(
    'IDENTITY_REQUIRED',
    `${found}: node ${node} needs a person with a token of scope tasks:write`,
  );
};

/** Approvers rely on the author of a review. */
export const reviewNeedsIdentity = (): ErrorBody =>
  errorBody('IDENTITY_REQUIRED', 'a review needs a token of scope tasks:write: its author is shown');

/**
 * Why the sender may not give this command, if they may not. A node with an effect or a check needs a verified
 * person, and one of its audience to take it as done or to skip it. Services cancel rollbacks and effects of
 * programs that they submitted themselves.
 */
export const commandRefusal = (task: Task, command: OperatorCommand): ErrorBody | undefined => {
  const { sender = { kind: 'unverified' } } = command;
  if (command.kind === 'record_review' && sender.kind === 'unverified') return reviewNeedsIdentity();
  if (sender.kind === 'service' || !isNodeCommand(command)) return undefined;
  const [first, ...others] = guardedNodes(task, command);
  if (first === undefined) return undefined;
  if (sender.kind !== 'person' || sender.agent !== undefined) return required(first, sender);
  if (command.kind !== 'done' && command.kind !== 'skip') return undefined;
  const barred = [first, ...others].find((node) => !isAmong(audienceOf(task, node), sender));
  if (barred === undefined) return undefined;
  const audience = audienceOf(task, barred).join(', ');
  return errorBody(
    'ORCHESTRATOR_NOT_ENTITLED',
    `${sender.name} may not decide about node ${barred}; its audience is: ${audience}`,
  );
};
