import { Scope } from '@holdpoint/contracts/approval/access-token';
import { MCP_RESOURCE_SCOPES, MCP_TOOL_SCOPES } from '@holdpoint/contracts/catalog/scopes';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { Client as McpClient } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Client } from '../bus/client.ts';
import { createMcpServer } from './server.ts';

const AGENT = { agent: 'claude', owner: 'ada', proven: true } as const;

/** Refuses every call after it was counted: only the check of the scope is of interest. */
const connect = async (scopes: readonly Scope[] | undefined) => {
  const calls: string[] = [];
  const refuse = (name: string): Promise<never> => {
    calls.push(name);
    return Promise.reject(new HoldpointError('RUNTIME_UNAVAILABLE', 'reached'));
  };
  const client = {
    call: (service: string, endpoint: string) => refuse(`${service}.${endpoint}`),
    watch: () => refuse('watch'),
    logs: () => ({ read: () => refuse('logs') }),
  } as unknown as Client;
  const server = createMcpServer(client, { ...AGENT, scopes });
  const mcp = new McpClient({ name: 'test', version: '1' });
  const [near, far] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(far), mcp.connect(near)]);
  return { mcp, calls };
};

const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => '',
    (error: unknown) => (error instanceof Error ? error.message : ''),
  );

const ID = 't-1';
const DIGEST = 'a'.repeat(64);
const TOOLS: Readonly<Record<keyof typeof MCP_TOOL_SCOPES, object>> = {
  task_get: { task_id: ID },
  task_wait: { task_id: ID, timeoutMs: 0 },
  task_submit: { workflow: 'sample', goal: 'greet' },
  task_request_approval: { goal: 'write', uses: 'cap.file.append', args: {}, target: 'file:a' },
  task_record_checkpoint: { task_id: ID, attempt_id: 'append/1', checkpoint_type: 'looked' },
  task_record_review: { task_id: ID, kind: 'spec', verdict: 'passed', summary: 'fine' },
  task_resolve_approval: { approval_id: 'a-1', digest: DIGEST, resolution: 'approve' },
};
const RESOURCES: Readonly<Record<keyof typeof MCP_RESOURCE_SCOPES, string>> = {
  task: `holdpoint://task/${ID}`,
  log: `holdpoint://log/${ID}/append`,
  report: `holdpoint://report/${ID}/append`,
};

/** Every single scope, and a token without any. */
const TOKENS: readonly (readonly Scope[])[] = [[], ...Scope.options.map((scope) => [scope])];

describe.each(Object.entries(MCP_TOOL_SCOPES))('the tool %s', (name, needed) => {
  test.each(TOKENS.map((scopes) => [scopes]))(
    'a tool answers only a token with its scope: %j',
    async (scopes) => {
      const { mcp, calls } = await connect(scopes);
      const args = { ...TOOLS[name as keyof typeof TOOLS] };
      const text = JSON.stringify((await mcp.callTool({ name, arguments: args })).structuredContent);
      const allowed = scopes.includes(needed);
      expect({ refused: text.includes('APPROVALS_SCOPE'), reached: calls.length > 0 }).toEqual({
        refused: !allowed,
        reached: allowed,
      });
      expect(text.includes(`the token lacks scope ${needed}`)).toBe(!allowed);
    },
  );
});

describe.each(Object.entries(MCP_RESOURCE_SCOPES))('the resource %s', (name, needed) => {
  test.each(TOKENS.map((scopes) => [scopes]))(
    'a resource answers only a token with its scope: %j',
    async (scopes) => {
      const { mcp, calls } = await connect(scopes);
      const read = mcp.readResource({ uri: RESOURCES[name as keyof typeof RESOURCES] });
      const message = await messageOf(read);
      const allowed = scopes.includes(needed);
      expect({ refused: message.includes('APPROVALS_SCOPE'), reached: calls.length > 0 }).toEqual({
        refused: !allowed,
        reached: allowed,
      });
    },
  );
});

test.each(TOKENS.map((scopes) => [scopes]))(
  'the list of resources answers only a token with its scope: %j',
  async (scopes) => {
    const { mcp, calls } = await connect(scopes);
    const message = await messageOf(mcp.listResources());
    const allowed = scopes.includes(MCP_RESOURCE_SCOPES.task);
    expect({ refused: message.includes('APPROVALS_SCOPE'), calls }).toEqual({
      refused: !allowed,
      calls: allowed ? ['orchestrator.list'] : [],
    });
  },
);

test('the guide names the scope of every tool and resource', () => {
  const guide = readFileSync(new URL('../../../../docs/mcp.md', import.meta.url), 'utf8');
  for (const [name, scope] of Object.entries(MCP_TOOL_SCOPES))
    expect(guide).toContain(`| \`${name}\` | \`${scope}\` |`);
  for (const [name, scope] of Object.entries(MCP_RESOURCE_SCOPES))
    expect(guide).toMatch(new RegExp(`\\| \`holdpoint://${name}/[^|]*\` \\| \`${scope}\` \\|`));
});

test('every tool and resource of the server is in the table of scopes', async () => {
  const { mcp } = await connect(undefined);
  expect((await mcp.listTools()).tools.map(({ name }) => name).toSorted()).toEqual(
    Object.keys(MCP_TOOL_SCOPES).toSorted(),
  );
  expect((await mcp.listResourceTemplates()).resourceTemplates.map(({ name }) => name).toSorted()).toEqual(
    Object.keys(MCP_RESOURCE_SCOPES).toSorted(),
  );
});
