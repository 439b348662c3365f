import { digestShown } from '@holdpoint/contracts/approval/shown-effect';
import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { allows, ENDPOINT_SCOPES } from '@holdpoint/contracts/catalog/scopes';
import { documentedTask } from '@holdpoint/contracts/task/document';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { NodeId } from '@holdpoint/contracts/values/ids';
import { asSent, type JsonObject } from '@holdpoint/contracts/values/json';
import { z } from 'zod';
import type { Client } from '../bus/client.ts';
import type { Acting } from './acting.ts';

const APPROVALS_SHOWN = 50;

/** An attempt at a node of a task: `<node>/<number>`. */
export const AttemptId = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}\/[1-9]\d{0,8}$/, '<node>/<number of the attempt>');

export const attemptId = (node: string, attempt: number): string => `${node}/${String(attempt)}`;

export const attemptIn = (id: string): { readonly node: NodeId; readonly attempt: number } => {
  const [node, attempt] = id.split('/');
  return { node: NodeId.parse(node), attempt: Number(attempt) };
};

/** The node of an attempt. Throws `ORCHESTRATOR_UNKNOWN_NODE` and `ORCHESTRATOR_ILLEGAL_IN_PHASE`. */
export const currentNode = (task: TaskView, id: string): TaskView['nodes'][number] => {
  const { node: name, attempt } = attemptIn(id);
  const node = task.nodes.find((each) => each.id === name);
  if (node === undefined)
    throw new HoldpointError('ORCHESTRATOR_UNKNOWN_NODE', `task ${task.id} has no node ${name}`);
  if (node.attempt !== attempt)
    throw new HoldpointError(
      'ORCHESTRATOR_ILLEGAL_IN_PHASE',
      `node ${name} is at attempt ${String(node.attempt)}, not ${String(attempt)}`,
    );
  return node;
};

const checkpointIn = ({
  kind,
  name,
  node,
  attempt,
  reason,
  payload,
  by,
  agent,
}: NonNullable<TaskView['checkpoints']>[number]): JsonObject =>
  asSent({
    checkpoint_type: name ?? kind,
    kind,
    attempt_id: attemptId(node, attempt),
    note: reason,
    payload,
    by,
    agent,
  });

/** A task in the form of gates: the parts that gates name, then its nodes. */
export const taskDocument = (view: TaskView): JsonObject => {
  const {
    acceptanceCriteria: _criteria,
    requestedBy: _requester,
    latestApproval: _approval,
    artifact: _artifact,
    checkpoints = [],
    nodes,
    ...rest
  } = view;
  return {
    ...asSent(rest),
    ...documentedTask(view),
    nodes: nodes.map((node) => ({ ...asSent(node), attempt_id: attemptId(node.id, node.attempt) })),
    checkpoints: checkpoints.map(checkpointIn),
  };
};

/** A request in the names of the tools. The requester is the proven one. */
export const requestDocument = (view: ApprovalView): JsonObject => {
  const { id, task, node, title, effect, facts, digest, requestedBy, agent, audience, expiresAt, risk } =
    view;
  return asSent({
    approval_id: id,
    task_id: task,
    attempt_id: attemptId(node, facts?.attempt ?? 1),
    status: view.status,
    requested_action: title,
    requested_by: requestedBy,
    agent,
    side_effect_kind: effect.kind,
    idempotency_key: effect.idempotencyKey,
    rollback_hint: facts?.rollbackHint ?? 'none provided',
    on_behalf_of:
      facts?.onBehalfOf === undefined
        ? undefined
        : {
            task_id: facts.onBehalfOf.task,
            attempt_id: attemptId(facts.onBehalfOf.node, facts.onBehalfOf.attempt),
          },
    digest: digestShown({ effect, digest }),
    effect,
    audience,
    expiresAt,
    risk,
  });
};

/** A task; with `approvals:read` its pending requests too. */
export const withApprovals = async (client: Client, { scopes }: Acting, task: TaskView): Promise<object> => {
  const shown = { task: taskDocument(task) };
  if (!allows(scopes, ENDPOINT_SCOPES.approvals.list)) return shown;
  const page = await client.call('approvals', 'list', { task: task.id, limit: APPROVALS_SHOWN });
  return { ...shown, approvals: page.items.map(requestDocument) };
};
