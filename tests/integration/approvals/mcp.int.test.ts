import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Scope } from '@holdpoint/contracts/approval/access-token';
import { ApprovalId, TaskId } from '@holdpoint/contracts/values/ids';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { layout } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { createUndo } from '@holdpoint/infra/local/undo';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type TestPrincipal, writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { newTaskId, submitSample, waitForPhase, waitForRequest } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

const PEOPLE = [
  { name: 'ada', groups: ['operators'], token: 'hpt_ada' },
  { name: 'grace', groups: ['operators'], token: 'hpt_grace' },
] as const satisfies readonly TestPrincipal[];

const MAIN = join(root, 'packages', 'cli', 'src', 'main.ts');

let system: System;
const undo = createUndo();
beforeEach(async () => {
  system = await createSystem();
  const principals = await writePrincipals(system.folder, PEOPLE);
  for (const service of ['orchestrator', 'executor', 'recovery'] as const) await system.start(service);
  await system.start('approvals', { HOLDPOINT_PRINCIPALS_FILE: principals });
  await until('approvals answers', () => system.client.ask('approvals', 'info', {}));
  await until('the executor answers', () => system.client.ask('executor', 'info', {}));
});
afterEach(async () => {
  await undo.run();
  await system.stop();
});

const envWith = (token: string | undefined): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOLDPOINT_NATS_URL: system.nats.url,
  HOLDPOINT_NATS_SEED_FILE: layout(system.run.credentialsDir).natsSeed('operator'),
  ...(token !== undefined && { HOLDPOINT_TOKEN: token }),
});

/** The secret of an agent token of this person. */
const AGENT_SCOPES: readonly Scope[] = [
  'approvals:read',
  'approvals:decide',
  'tasks:read',
  'tasks:write',
  'tasks:submit',
];

const agentOf = async (owner: string, agent: string, scopes = AGENT_SCOPES): Promise<string> => {
  const secret = `hpt_${agent}-of-${owner}`;
  const principal = {
    name: agent,
    agent,
    sha256: sha256Of(secret),
  };
  const person = PEOPLE.find(({ name }) => name === owner);
  await system.client.ask('approvals', 'token_create', { ...principal, scopes: [...scopes] }, person?.token);
  return secret;
};

const connected = async (transport: Transport): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1' });
  await client.connect(transport);
  undo.add(() => client.close());
  return client;
};

const overStdio = (token: string | undefined): Promise<Client> =>
  connected(
    new StdioClientTransport({
      command: process.execPath,
      args: [MAIN, 'mcp', '--agent', 'claude'],
      env: envWith(token),
      cwd: system.folder,
    }),
  );

/** A server on a free port; each client sends its own token. */
const serve = async (...more: readonly string[]): Promise<string> => {
  const child: ChildProcess = spawn(process.execPath, [MAIN, 'mcp', '--http', '--port', '0', ...more], {
    env: envWith(undefined),
    cwd: system.folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  undo.add(async () => {
    child.kill();
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  });
  for await (const piece of child.stdout ?? []) {
    const url = /http:\/\/\S+/.exec(String(piece))?.[0];
    if (url !== undefined) return url;
  }
  throw new Error('the server has not said where it listens');
};

const overHttp = (url: string, token: string): Promise<Client> =>
  connected(
    new StreamableHTTPClientTransport(new URL(url), {
      requestInit: { headers: { authorization: `Bearer ${token}` } },
    }),
  );

const Refused = z.object({ error: z.object({ code: z.string(), message: z.string() }) });

const call = async (client: Client, name: string, args: Record<string, unknown>): Promise<unknown> => {
  const result = await client.callTool({ name, arguments: args });
  expect(result.isError, JSON.stringify(result.content)).not.toBe(true);
  return result.structuredContent;
};
const refusal = async (client: Client, name: string, args: Record<string, unknown>): Promise<string> => {
  const result = await client.callTool({ name, arguments: args });
  expect(result.isError).toBe(true);
  return Refused.parse(result.structuredContent).error.code;
};

const Asked = z.object({
  task_id: TaskId,
  phase: z.string(),
  approval_id: ApprovalId,
  attempt_id: z.string(),
  digest: z.string(),
  status: z.string(),
  requested_by: z.string(),
  side_effect_kind: z.string(),
  idempotency_key: z.string(),
  rollback_hint: z.string(),
  on_behalf_of: z.object({ task_id: z.string(), attempt_id: z.string() }).optional(),
});
const Latest = z.object({ status: z.string(), note: z.string(), resolved_by: z.string() });
const Seen = z.object({
  task: z.object({
    phase: z.object({ current: z.string() }),
    requested_by: z.string(),
    agent: z.string().optional(),
    approvals: z.object({ latest: Latest }),
  }),
  approvals: z.array(z.object({ approval_id: z.string(), digest: z.string(), requested_by: z.string() })),
});

/** One line for a file of the workspace. */
const line = (text: string, more: object = {}) => ({
  goal: `write ${text}`,
  uses: 'cap.file.append',
  args: { file: 'agents.txt', line: text },
  target: 'file:agents.txt',
  ...more,
});

const written = async (): Promise<readonly string[]> => {
  try {
    return (await readFile(join(system.workspace, 'agents.txt'), 'utf8')).trim().split('\n');
  } catch {
    return [];
  }
};

const ways = [
  ['standard input and output', async (token: string) => overStdio(token)],
  ['HTTP', async (token: string) => overHttp(await serve(), token)],
] as const;

describe.each(ways)('over %s', (_way, connect) => {
  test('an agent requests an effect, another owner’s agent approves it, and it happens once', async () => {
    const [claude, reviewer] = [
      await connect(await agentOf('ada', 'claude')),
      await connect(await agentOf('grace', 'reviewer')),
    ];
    expect((await claude.listTools()).tools.map(({ name }) => name).toSorted()).toEqual([
      'task_get',
      'task_record_checkpoint',
      'task_record_review',
      'task_request_approval',
      'task_resolve_approval',
      'task_submit',
      'task_wait',
    ]);
    const asked = Asked.parse(await call(claude, 'task_request_approval', line('hello')));
    expect(asked.phase).toBe('awaiting_approval');
    expect(await written()).toEqual([]);

    const { task, approvals } = Seen.parse(await call(reviewer, 'task_get', { task_id: asked.task_id }));
    expect(task).toMatchObject({
      requested_by: 'ada',
      agent: 'claude',
      approvals: { latest: { status: 'pending' } },
    });
    expect(approvals).toMatchObject([{ approval_id: asked.approval_id, requested_by: 'ada' }]);
    const decision = {
      task_id: asked.task_id,
      approval_id: asked.approval_id,
      digest: approvals[0]?.digest,
      resolution: 'approve',
      resolved_by: 'mallory',
      note: 'as agreed',
    };
    expect(await refusal(claude, 'task_resolve_approval', decision)).toBe('APPROVALS_FOUR_EYES');
    expect(await call(reviewer, 'task_resolve_approval', decision)).toMatchObject({
      approval_id: asked.approval_id,
      status: 'approved',
      resolved_by: 'grace',
    });

    expect(await call(claude, 'task_wait', { task_id: asked.task_id })).toMatchObject({
      reached: true,
      task: {
        phase: { current: 'completed' },
        approvals: { latest: { status: 'approved', note: 'as agreed', resolved_by: 'grace' } },
        checkpoints: expect.arrayContaining([
          expect.objectContaining({ checkpoint_type: 'resume_granted', by: 'grace' }),
        ]) as unknown,
      },
    });
    expect(await written()).toHaveLength(1);
    const { items } = await system.client.ask('approvals', 'audit', { about: asked.approval_id }, 'hpt_ada');
    expect(items.map(({ type, entry }) => ({ type, ...(JSON.parse(entry) as object) }))).toMatchObject([
      { type: 'requested', requestedBy: 'ada', agent: 'claude' },
      { type: 'decision_refused', by: 'ada', agent: 'claude', code: 'APPROVALS_FOUR_EYES' },
      { type: 'resolved', by: 'grace', agent: 'reviewer' },
      ...items.slice(3).map(() => ({})),
    ]);
  });

  test('an agent submits a task, leaves a note, waits and reads', async () => {
    const claude = await connect(await agentOf('ada', 'claude'));
    const id = newTaskId();
    const submission = {
      task_id: id,
      workflow: 'sample',
      goal: 'say hello',
      inputs: { file: 'a.txt', line: 'x' },
      acceptanceCriteria: ['it is kind'],
    };
    await call(claude, 'task_submit', submission);
    await call(claude, 'task_submit', submission);
    await waitForPhase(system.client, id, 'awaiting_approval');
    const at = { task_id: id, attempt_id: 'append/1' };
    const note = {
      ...at,
      checkpoint_type: 'looked',
      note: 'nothing else writes there',
      payload: { lines: 0 },
    };
    await call(claude, 'task_record_checkpoint', note);
    expect(await refusal(claude, 'task_record_checkpoint', { ...note, attempt_id: 'append/2' })).toBe(
      'ORCHESTRATOR_ILLEGAL_IN_PHASE',
    );
    const review = {
      ...at,
      kind: 'spec',
      verdict: 'passed',
      summary: 'as agreed',
      url: 'https://a.example/1',
    };
    await call(claude, 'task_record_review', review);
    expect(await call(claude, 'task_wait', { task_id: id, until: 'standing' })).toMatchObject({
      reached: true,
      task: {
        phase: { current: 'awaiting_approval' },
        spec: { goal: 'say hello', acceptance_criteria: ['it is kind'] },
        reviews: { spec: { latest_verdict: 'passed', by: 'claude' }, quality: { latest_verdict: 'none' } },
        artifacts: { primary: { latest: { uri: 'none' } } },
        nodes: expect.arrayContaining([expect.objectContaining({ attempt_id: 'append/1' })]) as unknown,
        checkpoints: expect.arrayContaining([
          expect.objectContaining({
            checkpoint_type: 'looked',
            attempt_id: 'append/1',
            payload: { lines: 0 },
            by: 'ada',
            agent: 'claude',
          }),
        ]) as unknown,
      },
    });
    // A step that waits at its gate: its own request.
    expect(
      Asked.parse(await call(claude, 'task_request_approval', { ...at, status: 'pending' })),
    ).toMatchObject({
      ...at,
      status: 'pending',
      requested_by: 'ada',
      side_effect_kind: 'write_external',
      rollback_hint: 'none provided',
    });
    // A new effect on behalf of the step: the same key asks once.
    const more = line('more', {
      ...at,
      requested_by: 'mallory',
      idempotency_key: 'more-1',
      rollback_hint: 'remove the line',
    });
    const [asked, again] = [
      Asked.parse(await call(claude, 'task_request_approval', more)),
      Asked.parse(await call(claude, 'task_request_approval', more)),
    ];
    expect(again.approval_id).toBe(asked.approval_id);
    expect(asked).toMatchObject({
      status: 'pending',
      requested_by: 'ada',
      idempotency_key: 'more-1',
      rollback_hint: 'remove the line',
      on_behalf_of: at,
    });
    expect(await system.client.ask('approvals', 'get', { id: asked.approval_id }, 'hpt_ada')).toMatchObject({
      facts: { acceptanceCriteria: ['it is kind'], reviews: { spec: { verdict: 'passed' } } },
    });
    expect(await call(claude, 'task_wait', { task_id: id, timeoutMs: 1 })).toMatchObject({ reached: false });
    const { contents } = await claude.readResource({ uri: `holdpoint://task/${id}` });
    expect(contents).toMatchObject([
      { mimeType: 'application/json', text: expect.stringContaining('say hello') as unknown },
    ]);
    expect((await claude.listResources()).resources.map(({ name }) => name)).toContain(id);
    const log = await claude.readResource({ uri: `holdpoint://log/${id}/append` });
    expect(log.contents).toMatchObject([{ mimeType: 'text/plain', text: '' }]);
    await expect(claude.readResource({ uri: `holdpoint://report/${id}/append` })).rejects.toThrow(
      /RECOVERY_UNKNOWN/,
    );
    expect(await refusal(claude, 'task_get', { task_id: 't-nobody' })).toBe('ORCHESTRATOR_UNKNOWN_TASK');
  });
});

test('over HTTP a token opens exactly the tools and resources of its scopes', async () => {
  const url = await serve();
  const reader = await overHttp(url, await agentOf('ada', 'reader', ['approvals:read']));
  const id = newTaskId();
  const submission = {
    task_id: id,
    workflow: 'sample',
    goal: 'say hello',
    inputs: { file: 'a.txt', line: 'x' },
  };
  expect(await refusal(reader, 'task_submit', submission)).toBe('APPROVALS_SCOPE');
  expect(await refusal(reader, 'task_request_approval', line('no'))).toBe('APPROVALS_SCOPE');
  await expect(reader.listResources()).rejects.toThrow(/APPROVALS_SCOPE/);
  await expect(system.client.ask('orchestrator', 'get', { id })).rejects.toMatchObject({
    code: 'ORCHESTRATOR_UNKNOWN_TASK',
  });
  const submitter = await overHttp(url, await agentOf('ada', 'submitter', ['tasks:submit']));
  await call(submitter, 'task_submit', submission);
  expect(await refusal(submitter, 'task_get', { task_id: id })).toBe('APPROVALS_SCOPE');
  const watcher = await overHttp(url, await agentOf('ada', 'watcher', ['tasks:read']));
  const seen = await call(watcher, 'task_get', { task_id: id });
  expect(Object.keys(z.record(z.string(), z.unknown()).parse(seen))).toEqual(['task']);
});

describe('four eyes', () => {
  test('neither an agent, its owner nor another agent of that owner decides on its requests', async () => {
    const claude = await overStdio(await agentOf('ada', 'claude'));
    const other = await overStdio(await agentOf('ada', 'other'));
    const asked = Asked.parse(await call(claude, 'task_request_approval', line('four', { fourEyes: true })));
    const { approval_id: id, digest } = asked;
    for (const agent of [claude, other])
      expect(
        await refusal(agent, 'task_resolve_approval', { approval_id: id, digest, resolution: 'approve' }),
      ).toBe('APPROVALS_FOUR_EYES');
    await expect(
      system.client.ask('approvals', 'decide', { id, decision: 'approve' }, 'hpt_ada'),
    ).rejects.toMatchObject({ code: 'APPROVALS_FOUR_EYES' });
    await system.client.ask('approvals', 'decide', { id, decision: 'approve' }, 'hpt_grace');
    await waitForPhase(system.client, asked.task_id, 'completed');
    expect(await written()).toHaveLength(1);
  });

  test('without four eyes the owner decides on requests of their agent, and the agent does not', async () => {
    const claude = await overStdio(await agentOf('ada', 'claude'));
    const asked = Asked.parse(await call(claude, 'task_request_approval', line('two')));
    const { approval_id: id, digest } = asked;
    expect(
      await refusal(claude, 'task_resolve_approval', { approval_id: id, digest, resolution: 'approve' }),
    ).toBe('APPROVALS_FOUR_EYES');
    await system.client.ask('approvals', 'decide', { id, decision: 'approve' }, 'hpt_ada');
    await waitForPhase(system.client, asked.task_id, 'completed');
  });

  test('a token that is not an agent token makes no decision over MCP', async () => {
    const task = await submitSample(system.client);
    const { digest } = await waitForRequest(system.client, task);
    const decision = { approval_id: task.approval, digest, resolution: 'approve' };
    const person = await overStdio('hpt_ada');
    expect(await refusal(person, 'task_resolve_approval', decision)).toBe('APPROVALS_NOT_ENTITLED');
    const nobody = await overStdio(undefined);
    expect(await refusal(nobody, 'task_resolve_approval', decision)).toBe('APPROVALS_NOT_ENTITLED');
  });

  test('an agent creates neither tokens nor rules', async () => {
    const secret = 'hpt_wide';
    const wide = { name: 'wide', agent: 'claude', sha256: sha256Of(secret) };
    const scopes = ['approvals:read', 'rules:write', 'tokens:write'] as const;
    await system.client.ask('approvals', 'token_create', { ...wide, scopes: [...scopes] }, 'hpt_ada');
    const token = { name: 'mine', sha256: sha256Of('hpt_mine'), scopes: ['approvals:read' as const] };
    await expect(system.client.ask('approvals', 'token_create', token, secret)).rejects.toMatchObject({
      code: 'APPROVALS_NOT_ENTITLED',
    });
    const rule = { name: 'all of it', match: { capability: 'cap.notify.*', target: 'notify:*' } };
    await expect(system.client.ask('approvals', 'rule_add', rule as never, secret)).rejects.toMatchObject({
      code: 'APPROVALS_NOT_ENTITLED',
    });
  });
});

describe('HTTP', () => {
  const initialize = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  });
  const post = (url: string, headers: Record<string, string>, body = initialize): Promise<Response> =>
    fetch(url, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: 'Bearer hpt_ada',
        ...headers,
      },
    });

  test('the HTTP server answers callers with a token, from the configured origins only', async () => {
    const url = await serve('--origin', 'https://agents.example');
    expect(new URL(url).hostname).toBe('127.0.0.1');
    expect((await post(url, {})).status).toBe(200);
    expect((await post(url, { origin: 'https://agents.example' })).status).toBe(200);
    expect((await post(url, { origin: 'https://evil.example' })).status).toBe(403);
    expect((await post(url, { origin: 'null' })).status).toBe(403);
    expect((await post(url, { authorization: '' })).status).toBe(401);
    expect((await post(url, { authorization: 'Bearer hpt_nobody' })).status).toBe(401);
    expect((await post(url, {}, '{')).status).toBe(400);
    expect((await post(url, {}, 'x'.repeat(2_000_000))).status).toBe(413);
    expect((await fetch(url, { headers: { authorization: 'Bearer hpt_ada' } })).status).toBe(405);
    expect((await fetch(new URL('/', url))).status).toBe(404);
  });

  test('a revoked token is useless at once', async () => {
    const url = await serve();
    const secret = await agentOf('ada', 'claude');
    const claude = await overHttp(url, secret);
    const { items } = await system.client.ask('approvals', 'token_list', {}, 'hpt_ada');
    const token = items.find(({ agent }) => agent === 'claude');
    await system.client.ask('approvals', 'token_revoke', { id: token?.id as never }, 'hpt_ada');
    await expect(claude.callTool({ name: 'task_get', arguments: { task_id: 't-1' } })).rejects.toThrow(
      /401|revoked/,
    );
  });
});
