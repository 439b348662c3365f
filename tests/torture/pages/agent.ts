import { join } from 'node:path';
import { ApprovalId } from '@holdpoint/contracts/values/ids';
import { ErrorBody, ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { layout } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { z } from 'zod';
import type { Deployment } from '../deployment/deployment.ts';
import type { History } from '../history.ts';
import { type Caller, createRecorded, type Outcome, type Send } from '../workload/caller.ts';
import { connectTo } from '../workload/connect.ts';
import { startAgentProcess } from './agent-process.ts';

export const AGENT = 'torture-agent';

/** An agent of the first approver, over MCP. */
export type Agent = {
  readonly secret: string;
  readonly submit: (task: string, submission: object) => Promise<Outcome<unknown>>;
  /** Tries to approve its own request. The outcome goes into the history. */
  readonly tryToApprove: (task: string, approval: string) => Promise<void>;
  readonly stop: () => void;
};

const Waited = z.object({ approvals: z.array(z.object({ approval_id: z.string(), digest: z.string() })) });
const Refused = z.object({ error: ErrorBody });

/** Creates its token before the first fault, and starts it. */
export const hireAgent = async (deployment: Deployment, history: History): Promise<Agent> => {
  const [owner] = deployment.people;
  if (owner === undefined) throw new Error('the deployment has no user for the agent');
  const secret = `hpt_${crypto.randomUUID()}`;
  const client = await connectTo(deployment, owner.token);
  await client.call('approvals', 'token_create', {
    name: AGENT,
    agent: AGENT,
    sha256: sha256Of(secret),
    scopes: ['tasks:read', 'tasks:write', 'tasks:submit', 'approvals:read', 'approvals:decide'],
  });
  await client.close();
  const server = startAgentProcess(
    [join(root, 'packages', 'cli', 'src', 'main.ts'), 'mcp', '--agent', AGENT],
    {
      HOLDPOINT_NATS_URL: deployment.natsUrl,
      HOLDPOINT_NATS_SEED_FILE: layout(deployment.credentialsDir).natsSeed('operator'),
      HOLDPOINT_TOKEN: secret,
    },
  );

  const tool = async (name: string, args: object): Promise<unknown> => {
    const { isError, content } = await server.callTool(name, args);
    if (!isError) return content;
    const { code, message, details } = Refused.parse(content).error;
    throw new HoldpointError(ErrorCode.parse(code), message, details && { details });
  };
  /** The arguments of a tool have other names than the fields of the API. */
  const through = (name: string, argsOf: (request: Readonly<Record<string, unknown>>) => object): Caller => {
    const send: Send = async (_service, _endpoint, request) =>
      (await tool(name, argsOf(request as Readonly<Record<string, unknown>>))) as never;
    return createRecorded(send, history);
  };
  const submitting = through('task_submit', ({ id, ...more }) => ({ ...more, task_id: id }));
  const deciding = through('task_resolve_approval', ({ id, decision, ...more }) => ({
    ...more,
    approval_id: id,
    resolution: decision,
  }));

  return {
    secret,
    submit: (task, submission) =>
      submitting('agent', task, 'orchestrator', 'submit', submission as z.input<typeof SubmitTask>),
    tryToApprove: async (task, approval) => {
      const seen = await tool('task_get', { task_id: task }).catch(() => undefined);
      const digest = Waited.safeParse(seen).data?.approvals.find(
        (each) => each.approval_id === approval,
      )?.digest;
      if (digest === undefined) return;
      const id = ApprovalId.parse(approval);
      await deciding('agent', task, 'approvals', 'decide', { id, digest, decision: 'approve' });
    },
    stop: server.stop,
  };
};
