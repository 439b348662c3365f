import { setTimeout as pause } from 'node:timers/promises';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { type ApprovalId, newTaskId, taskIdFrom } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Client } from '../bus/client.ts';
import { EFFECT, effectWorkflow } from '../effect/effect-workflow.ts';
import type { Acting } from './acting.ts';
import { attemptIn, currentNode, requestDocument } from './documents.ts';
import { type ApprovalRequest, effectOf } from './effect-task.ts';
import { waitForTask } from './waiting.ts';

/** A request reaches its gate within seconds, unless a service is down. */
const REQUEST_WITHIN_MS = 10_000;
const REQUEST_GAP_MS = 100;

/** The request in the names of the tool; undefined if the approvals service does not have it in time. */
const requestOf = async (
  client: Client,
  id: ApprovalId,
  signal: AbortSignal,
): Promise<JsonObject | undefined> => {
  for (const overAt = performance.now() + REQUEST_WITHIN_MS; ;) {
    try {
      return requestDocument(await client.call('approvals', 'get', { id }));
    } catch (error) {
      const mayCome = hasCode(error, 'APPROVALS_UNKNOWN');
      if (!mayCome) throw error;
      if (signal.aborted || performance.now() >= overAt) return undefined;
    }
    await pause(REQUEST_GAP_MS);
  }
};

type Origin = { readonly task: TaskView; readonly attemptId: string };

const originOf = async (client: Client, request: ApprovalRequest): Promise<Origin | undefined> => {
  const { task_id: id, attempt_id: attempt } = request;
  if (attempt === undefined) return undefined;
  if (id === undefined) throw new HoldpointError('CONTRACT_INVALID', 'task_id: attempt_id needs it as well');
  const task = await client.call('orchestrator', 'get', { id });
  currentNode(task, attempt);
  return { task, attemptId: attempt };
};

const answerOf = async (
  client: Client,
  { task, approval }: { readonly task: TaskView; readonly approval: ApprovalId | undefined },
  signal: AbortSignal,
): Promise<object> => {
  const request = approval && (await requestOf(client, approval, signal));
  return {
    task_id: task.id,
    phase: task.phase,
    ...(approval !== undefined && { approval_id: approval }),
    ...request,
  };
};

/** The own request of a step that waits at its gate. Undefined when the step asks for another effect. */
const ownRequest = ({ task, attemptId }: Origin, request: ApprovalRequest): ApprovalId | undefined => {
  if (request.uses !== undefined) return undefined;
  const { id, approval } = currentNode(task, attemptId);
  if (approval !== undefined) return approval;
  throw new HoldpointError(
    'CONTRACT_INVALID',
    `node ${id} has no effect at a gate: give uses, args and target of the effect`,
  );
};

/** The same key of the same attempt names the same task, so that a repeated request finds it. */
const taskIdFor = ({ task_id: id, idempotency_key: key }: ApprovalRequest, origin: Origin | undefined) => {
  if (origin === undefined) return id ?? newTaskId();
  return key === undefined ? newTaskId() : taskIdFrom(`${origin.task.id} ${origin.attemptId} ${key}`);
};

/** Requests approval of one exact effect: that of a step at its gate, or a new one. */
export const requestApproval = async (
  client: Client,
  { owner, agent }: Acting,
  request: ApprovalRequest,
  signal: AbortSignal,
): Promise<object> => {
  const origin = await originOf(client, request);
  const own = origin && ownRequest(origin, request);
  if (origin !== undefined && own !== undefined)
    return answerOf(client, { task: origin.task, approval: own }, signal);
  const id = taskIdFor(request, origin);
  const effect = effectOf(request, origin?.task.goal);
  // One task per effect: submitting the same task again returns the same effect.
  const key = effect.idempotency_key ?? `agent:${id}`;
  const definition = await effectWorkflow(client, 'agent-effect', { ...effect, idempotency_key: key });
  const criteria = origin?.task.acceptanceCriteria;
  await client.call('orchestrator', 'submit', {
    id,
    workflow: definition.id,
    definition,
    goal: effect.goal,
    ...(criteria && { acceptanceCriteria: criteria }),
    ...(origin && { onBehalfOf: { task: origin.task.id, ...attemptIn(origin.attemptId) } }),
    requestedBy: owner,
    agent,
  });
  const wait = { until: 'standing', timeoutMs: REQUEST_WITHIN_MS, signal } as const;
  const { task } = await waitForTask(client, id, wait);
  const approval = task.nodes.find((node) => node.id === EFFECT)?.approval;
  return answerOf(client, { task, approval }, signal);
};
