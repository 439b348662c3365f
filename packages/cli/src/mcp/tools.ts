import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { digestShown } from '@holdpoint/contracts/approval/shown-effect';
import { Digest } from '@holdpoint/contracts/effect/canonical-effect';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { ApprovalId, TaskId, taskIdFrom } from '@holdpoint/contracts/values/ids';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { RecordCheckpoint } from '@holdpoint/contracts/task/commands';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { allows, ENDPOINT_SCOPES, MCP_TOOL_SCOPES, type McpTool } from '@holdpoint/contracts/catalog/scopes';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Client } from '../bus/client.ts';
import { sendDecision } from '../approval/decisions.ts';
import { type Acting, requireAgentToken, requireScope } from './acting.ts';
import { EffectInput, EFFECT, effectWorkflow } from './effect-task.ts';
import { answering } from './result.ts';
import { waitForTask } from './waiting.ts';

const WAIT_DEFAULT_MS = 60_000;
const WAIT_MAX_MS = 600_000;
/** A request reaches its gate within seconds, unless a service is down. */
const REQUEST_WITHIN_MS = 10_000;
const REQUEST_GAP_MS = 100;
const APPROVALS_SHOWN = 50;

/** Runs a tool, if the token has its scope. */
const answeringFor = (acting: Acting, tool: McpTool, work: () => Promise<object>): Promise<CallToolResult> =>
  answering(async () => {
    requireScope(acting, MCP_TOOL_SCOPES[tool]);
    return work();
  });

/** A task; with `approvals:read` its pending requests too. */
const withApprovals = async (client: Client, { scopes }: Acting, task: TaskView): Promise<object> => {
  if (!allows(scopes, ENDPOINT_SCOPES.approvals.list)) return { task };
  const page = await client.call('approvals', 'list', { task: task.id, limit: APPROVALS_SHOWN });
  const approvals = page.items.map(
    ({ id, node, title, digest, effect, audience, requestedBy, agent, expiresAt, risk }) => ({
      id,
      node,
      title,
      digest: digestShown({ effect, digest }),
      effect,
      audience,
      requestedBy,
      ...(agent !== undefined && { agent }),
      expiresAt,
      ...(risk !== undefined && { risk }),
    }),
  );
  return { task, approvals };
};

/** The digest of the request; undefined if the approvals service does not have it in time. */
const requestOf = async (
  client: Client,
  id: ApprovalId,
  signal: AbortSignal,
): Promise<{ readonly digest?: string }> => {
  for (const overAt = performance.now() + REQUEST_WITHIN_MS; ;) {
    try {
      return { digest: digestShown(await client.call('approvals', 'get', { id })) };
    } catch (error) {
      const mayCome = error instanceof HoldpointError && error.code === 'APPROVALS_UNKNOWN';
      if (!mayCome) throw error;
      if (signal.aborted || performance.now() >= overAt) return {};
    }
    await pause(REQUEST_GAP_MS);
  }
};

const addAsking = (server: McpServer, client: Client, acting: Acting): void => {
  const { owner, agent } = acting;
  const by = { requestedBy: owner, agent };
  server.registerTool(
    'task_get',
    {
      description: 'Show one task with its nodes and pending approvals.',
      inputSchema: { id: TaskId },
      annotations: { readOnlyHint: true },
    },
    ({ id }) =>
      answeringFor(acting, 'task_get', async () =>
        withApprovals(client, acting, await client.call('orchestrator', 'get', { id })),
      ),
  );
  server.registerTool(
    'task_submit',
    {
      description:
        'Run a workflow for a goal. Its effects wait for approval; with your own task ID you can safely submit again.',
      inputSchema: {
        workflow: z.string().min(1).max(200).describe('id or id@version'),
        goal: z.string().trim().min(1).max(100_000),
        inputs: JsonObject.optional(),
        acceptanceCriteria: z.array(z.string().max(10_000)).max(100).optional(),
        id: TaskId.optional(),
      },
      annotations: { destructiveHint: false },
    },
    ({ workflow, goal, inputs, acceptanceCriteria, id }) =>
      answeringFor(acting, 'task_submit', () =>
        client.call(
          'orchestrator',
          'submit',
          {
            workflow,
            goal,
            ...by,
            ...(inputs && { inputs }),
            ...(acceptanceCriteria && { acceptanceCriteria }),
            ...(id && { id }),
          },
          { requestId: randomUUID() },
        ),
      ),
  );
  server.registerTool(
    'task_request_approval',
    {
      description:
        'Request approval of one exact effect. It runs once, after an entitled approver has approved it; wait with task_wait.',
      inputSchema: EffectInput,
      annotations: { destructiveHint: false },
    },
    (request, { signal }) =>
      answeringFor(acting, 'task_request_approval', async () => {
        const id = request.id ?? taskIdFrom(randomUUID());
        const definition = await effectWorkflow(client, request, id);
        const submission = { id, workflow: definition.id, definition, goal: request.goal, ...by };
        await client.call('orchestrator', 'submit', submission);
        const { task } = await waitForTask(client, id, {
          until: 'standing',
          timeoutMs: REQUEST_WITHIN_MS,
          signal,
        });
        const approval = task.nodes.find((node) => node.id === EFFECT)?.approval;
        if (approval === undefined) return { id, phase: task.phase };
        return { id, phase: task.phase, approval, ...(await requestOf(client, approval, signal)) };
      }),
  );
};

const addSaying = (server: McpServer, client: Client, acting: Acting): void => {
  server.registerTool(
    'task_resolve_approval',
    {
      description:
        'Decide a request for your owner. This needs a token created for you, and never works for requests of your owner or the owner’s agents.',
      inputSchema: {
        id: ApprovalId,
        digest: Digest.describe(
          'digest of the effect, as shown by task_get; a changed effect is not decided',
        ),
        decision: Verb,
        comment: z.string().max(10_000).optional(),
      },
    },
    ({ id, digest, decision, comment }) =>
      answeringFor(acting, 'task_resolve_approval', () => {
        requireAgentToken(acting);
        return sendDecision(client, { id, digest }, decision, { comment });
      }),
  );
  server.registerTool(
    'task_record_checkpoint',
    {
      description: 'Leave a note on a node for the next worker. A repeated name counts once.',
      inputSchema: RecordCheckpoint.pick({ id: true, node: true, name: true, note: true }).shape,
      annotations: { destructiveHint: false, idempotentHint: true },
    },
    (note) =>
      answeringFor(acting, 'task_record_checkpoint', () =>
        client.call(
          'orchestrator',
          'checkpoint',
          { ...note, by: acting.owner, agent: acting.agent },
          { requestId: randomUUID() },
        ),
      ),
  );
};

const addWaiting = (server: McpServer, client: Client, acting: Acting): void => {
  server.registerTool(
    'task_wait',
    {
      description: 'Wait until a task has ended, or is waiting for a decision.',
      inputSchema: {
        id: TaskId,
        until: z.enum(['ended', 'standing']).default('ended'),
        timeoutMs: z.int().min(0).max(WAIT_MAX_MS).default(WAIT_DEFAULT_MS),
      },
      annotations: { readOnlyHint: true },
    },
    ({ id, until, timeoutMs }, { signal, sendNotification, _meta }) =>
      answeringFor(acting, 'task_wait', async () => {
        const progressToken = _meta?.progressToken;
        const { task, reached } = await waitForTask(client, id, {
          until,
          timeoutMs,
          signal,
          onChange: ({ version, phase }) => {
            if (progressToken === undefined) return;
            const params = { progressToken, progress: version, message: phase };
            // The client has disconnected, which ends the wait.
            void sendNotification({ method: 'notifications/progress', params }).catch(() => undefined);
          },
        });
        return { reached, ...(await withApprovals(client, acting, task)) };
      }),
  );
};

/** The tools of an agent: submit, read, wait, take notes and, with an agent token, decide requests of others. */
export const addTools = (server: McpServer, client: Client, acting: Acting): void => {
  addAsking(server, client, acting);
  addSaying(server, client, acting);
  addWaiting(server, client, acting);
};
