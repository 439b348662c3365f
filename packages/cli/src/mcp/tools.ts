import { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { Digest } from '@holdpoint/contracts/effect/canonical-effect';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { ApprovalId, orderedUuid, TaskId } from '@holdpoint/contracts/values/ids';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { RecordCheckpoint } from '@holdpoint/contracts/task/commands';
import { CheckpointPayload } from '@holdpoint/contracts/task/status';
import { statusWord } from '@holdpoint/contracts/task/document';
import { ReviewText } from '@holdpoint/contracts/workflow/review';
import { MCP_TOOL_SCOPES, type McpTool } from '@holdpoint/contracts/catalog/scopes';
import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import type { Client } from '../bus/client.ts';
import { sendDecision } from '../approval/decisions.ts';
import { type Acting, requireAgentToken, requireScope } from './acting.ts';
import { AttemptId, attemptIn, withApprovals } from './documents.ts';
import { ApprovalInput } from './effect-task.ts';
import { requestApproval } from './request-approval.ts';
import { answering } from './result.ts';
import { waitForTask } from './waiting.ts';

const WAIT_DEFAULT_MS = 60_000;
const WAIT_MAX_MS = 600_000;

/** Runs a tool, if the token has its scope. */
const answeringFor = (acting: Acting, tool: McpTool, work: () => Promise<object>): Promise<CallToolResult> =>
  answering(async () => {
    requireScope(acting, MCP_TOOL_SCOPES[tool]);
    return work();
  });

const addAsking = (server: McpServer, client: Client, acting: Acting): void => {
  const { owner, agent } = acting;
  const by = { requestedBy: owner, agent };
  server.registerTool(
    'task_get',
    {
      description:
        'Show one task: goal, criteria, phase, reviews, artifact, latest approval, nodes, checkpoints and pending requests.',
      inputSchema: { task_id: TaskId },
      annotations: { readOnlyHint: true },
    },
    ({ task_id: id }) =>
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
        task_id: TaskId.optional(),
      },
      annotations: { destructiveHint: false },
    },
    ({ workflow, goal, inputs, acceptanceCriteria, task_id: id }) =>
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
          { requestId: orderedUuid() },
        ),
      ),
  );
  server.registerTool(
    'task_request_approval',
    {
      description:
        'Request approval of one exact effect: a new one, also on behalf of a running task, or that of a step at its gate. It runs once, after an entitled approver has approved it; wait with task_wait.',
      inputSchema: ApprovalInput,
      annotations: { destructiveHint: false },
    },
    (request, { signal }) =>
      answeringFor(acting, 'task_request_approval', () => requestApproval(client, acting, request, signal)),
  );
};

const requireRequestOf = async (client: Client, id: ApprovalId, task: TaskId): Promise<void> => {
  const request = await client.call('approvals', 'get', { id });
  if (request.task !== task)
    throw new HoldpointError('CONTRACT_INVALID', `${id} belongs to task ${request.task}, not to ${task}`);
};

const addSaying = (server: McpServer, client: Client, acting: Acting): void => {
  server.registerTool(
    'task_resolve_approval',
    {
      description:
        'Decide a request for your owner. This needs a token created for you, and never works for requests of your owner or the owner’s agents.',
      inputSchema: {
        approval_id: ApprovalId,
        digest: Digest.describe(
          'digest of the effect, as shown by task_get; a changed effect is not decided',
        ),
        resolution: Verb,
        note: z.string().max(10_000).optional(),
        task_id: TaskId.optional().describe('refuses a request of another task'),
        resolved_by: z.string().max(200).optional().describe('ignored: the token proves who decides'),
      },
    },
    ({ approval_id: id, digest, resolution, note: comment, task_id: task }) =>
      answeringFor(acting, 'task_resolve_approval', async () => {
        requireAgentToken(acting);
        if (task !== undefined) await requireRequestOf(client, id, task);
        const answer = await sendDecision(client, { id, digest }, resolution, { comment });
        const { status, by, ...more } = answer;
        return { ...more, approval_id: id, status: statusWord(status), resolved_by: by, note: comment ?? '' };
      }),
  );
  server.registerTool(
    'task_record_checkpoint',
    {
      description: 'Leave a note on an attempt for the next worker. A repeated type counts once.',
      inputSchema: {
        task_id: TaskId,
        attempt_id: AttemptId,
        checkpoint_type: RecordCheckpoint.shape.name,
        note: RecordCheckpoint.shape.note.default(''),
        payload: CheckpointPayload.optional().describe('facts, at most 4,096 characters of JSON'),
      },
      annotations: { destructiveHint: false, idempotentHint: true },
    },
    ({ task_id: id, attempt_id: attempt, checkpoint_type: name, note, payload }) =>
      answeringFor(acting, 'task_record_checkpoint', async () => {
        const by = { by: acting.owner, agent: acting.agent };
        const request = { id, ...attemptIn(attempt), name, note, ...(payload && { payload }), ...by };
        const answer = await client.call('orchestrator', 'checkpoint', request, { requestId: orderedUuid() });
        return { task_id: answer.id, attempt_id: attempt, checkpoint_type: name, phase: answer.phase };
      }),
  );
  server.registerTool(
    'task_record_review',
    {
      description:
        'Record a review of the work of a task: approvers see the latest of each kind. It decides nothing.',
      inputSchema: { task_id: TaskId, attempt_id: AttemptId.optional(), ...ReviewText.shape },
      annotations: { destructiveHint: false },
    },
    ({ task_id: id, attempt_id: attempt, ...review }) =>
      answeringFor(acting, 'task_record_review', async () => {
        const node = attempt === undefined ? {} : { node: attemptIn(attempt).node };
        const by = { by: acting.owner, agent: acting.agent };
        const request = { id, ...review, ...node, ...by };
        const answer = await client.call('orchestrator', 'record_review', request, {
          requestId: orderedUuid(),
        });
        return { task_id: answer.id, phase: answer.phase, kind: review.kind, verdict: review.verdict };
      }),
  );
};

const addWaiting = (server: McpServer, client: Client, acting: Acting): void => {
  server.registerTool(
    'task_wait',
    {
      description: 'Wait until a task has ended, or is waiting for a decision.',
      inputSchema: {
        task_id: TaskId,
        until: z.enum(['ended', 'standing']).default('ended'),
        timeoutMs: z.int().min(0).max(WAIT_MAX_MS).default(WAIT_DEFAULT_MS),
      },
      annotations: { readOnlyHint: true },
    },
    ({ task_id: id, until, timeoutMs }, { signal, sendNotification, _meta }) =>
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

/** The tools of an agent: submit, read, wait, take notes, review and, with an agent token, decide requests of others. */
export const addTools = (server: McpServer, client: Client, acting: Acting): void => {
  addAsking(server, client, acting);
  addSaying(server, client, acting);
  addWaiting(server, client, acting);
};
