import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import type { Client } from '../bus/client.ts';
import { actingAs, type Unproven } from './acting.ts';
import { createMcpServer } from './server.ts';

/** Serves the parent process until it closes the input. Nothing else may write to the output. */
export const serveStdio = async (client: Client, unproven: Unproven): Promise<void> => {
  const server = createMcpServer(client, await actingAs(client, unproven));
  const over = new Promise<void>((resolve) => {
    process.stdin.once('end', resolve);
    process.stdin.once('close', resolve);
  });
  await server.connect(new StdioServerTransport());
  await over;
  await server.close();
};
