import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { type McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { z } from 'zod';
import { MCP_RESOURCE_SCOPES, type McpResource } from '@holdpoint/contracts/catalog/scopes';
import type { Client } from '../bus/client.ts';
import { type Acting, requireScope } from './acting.ts';
import { taskDocument } from './documents.ts';

const TASKS_LISTED = 50;
/** Limit for a resource; the log artifact has the full output. */
const LOG_MAX_CHARACTERS = 200_000;

/** The library passes on only the message, so the code goes into it. */
const reading = async <Read>(
  acting: Acting,
  resource: McpResource,
  read: () => Promise<Read>,
): Promise<Read> => {
  try {
    requireScope(acting, MCP_RESOURCE_SCOPES[resource]);
    return await read();
  } catch (error) {
    if (!(error instanceof HoldpointError)) throw error;
    throw new Error(`${error.code}: ${error.message}`, { cause: error });
  }
};

const part = <Schema extends z.ZodType>(schema: Schema, value: unknown): z.output<Schema> =>
  schema.parse(Array.isArray(value) ? value[0] : value);

const logText = async (client: Client, task: TaskId, node: NodeId): Promise<string> => {
  const lines: string[] = [];
  let size = 0;
  let left = 0;
  await client.logs(task, node).read(0, ({ stream, line }) => {
    size += line.length;
    if (size <= LOG_MAX_CHARACTERS) lines.push(stream === 'stderr' ? `[stderr] ${line}` : line);
    else left += 1;
  });
  if (left > 0) lines.push(`… and ${String(left)} more lines: holdpoint artifact get ${task}/${node}`);
  return lines.join('\n');
};

/** Resources for agents: tasks, output of nodes, and recovery reports of stuck jobs. */
export const addResources = (server: McpServer, client: Client, acting: Acting): void => {
  server.registerResource(
    'task',
    new ResourceTemplate('holdpoint://task/{id}', {
      list: async () => {
        const { items } = await reading(acting, 'task', () =>
          client.call('orchestrator', 'list', { limit: TASKS_LISTED }),
        );
        return {
          resources: items.map(({ id, goal, phase }) => ({
            uri: `holdpoint://task/${id}`,
            name: id,
            description: `${phase}: ${goal.slice(0, 200)}`,
            mimeType: 'application/json',
          })),
        };
      },
    }),
    { description: 'One task with its nodes', mimeType: 'application/json' },
    async (uri, { id }) => {
      const task = await reading(acting, 'task', () =>
        client.call('orchestrator', 'get', { id: part(TaskId, id) }),
      );
      return {
        contents: [{ uri: uri.href, mimeType: 'application/json', text: JSON.stringify(taskDocument(task)) }],
      };
    },
  );
  server.registerResource(
    'log',
    new ResourceTemplate('holdpoint://log/{task}/{node}', { list: undefined }),
    { description: 'Output of a node, while the bus keeps it', mimeType: 'text/plain' },
    async (uri, { task, node }) => {
      const text = await reading(acting, 'log', () =>
        logText(client, part(TaskId, task), part(NodeId, node)),
      );
      return { contents: [{ uri: uri.href, mimeType: 'text/plain', text }] };
    },
  );
  server.registerResource(
    'report',
    new ResourceTemplate('holdpoint://report/{task}/{node}', { list: undefined }),
    { description: 'Recovery report of a stuck job', mimeType: 'text/markdown' },
    async (uri, { task, node }) => {
      const job = { task: part(TaskId, task), node: part(NodeId, node) };
      const { report } = await reading(acting, 'report', () => client.call('recovery', 'report', job));
      return { contents: [{ uri: uri.href, mimeType: 'text/markdown', text: report }] };
    },
  );
};
