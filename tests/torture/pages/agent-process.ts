import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';

/** An MCP client over the standard streams of a server process. */
export type AgentProcess = {
  /** The answer of a tool. Throws when the outcome is unknown. */
  readonly callTool: (
    name: string,
    args: object,
  ) => Promise<{ readonly isError: boolean; readonly content: unknown }>;
  readonly stop: () => void;
};

const PROTOCOL = '2025-06-18';
const ANSWER_WITHIN_MS = 20_000;

const Message = z.object({
  id: z.number().optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});
const Result = z.object({ isError: z.boolean().optional(), structuredContent: z.unknown().optional() });

type Waiting = { readonly resolve: (result: unknown) => void; readonly reject: (error: Error) => void };

/** Starts the MCP server, and restarts it after each exit. */
export const startAgentProcess = (
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): AgentProcess => {
  const waiting = new Map<number, Waiting>();
  let calls = 0;
  let child: ChildProcess | undefined;
  let greeted: Promise<unknown> = Promise.resolve();
  let isStopped = false;

  const write = (message: object): void =>
    void child?.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

  const request = (method: string, params: object): Promise<unknown> => {
    calls += 1;
    const id = calls;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        waiting.delete(id);
        reject(new Error(`${method} was not answered in time`));
      }, ANSWER_WITHIN_MS);
      const settled =
        <Value>(settle: (value: Value) => void) =>
        (value: Value): void => {
          clearTimeout(timer);
          waiting.delete(id);
          settle(value);
        };
      waiting.set(id, { resolve: settled(resolve), reject: settled(reject) });
      write({ id, method, params });
    });
  };

  const hear = (line: string): void => {
    const { id, result, error } = Message.parse(JSON.parse(line));
    const pending = id === undefined ? undefined : waiting.get(id);
    if (error === undefined) pending?.resolve(result);
    else pending?.reject(new Error(error.message));
  };

  const start = (): void => {
    const mine = spawn(process.execPath, [...args], { env, stdio: ['pipe', 'pipe', 'ignore'] });
    child = mine;
    // Writes to an exited process are lost; its exit rejects the pending calls.
    mine.stdin.on('error', () => undefined);
    createInterface({ input: mine.stdout }).on('line', hear);
    mine.once('exit', () => {
      child = undefined;
      for (const { reject } of waiting.values()) reject(new Error('the MCP server has exited'));
    });
    const info = {
      protocolVersion: PROTOCOL,
      capabilities: {},
      clientInfo: { name: 'torture', version: '1' },
    };
    greeted = request('initialize', info).then(() => write({ method: 'notifications/initialized' }));
  };

  return {
    callTool: async (name, given) => {
      if (isStopped) throw new Error('the agent has stopped');
      if (child === undefined) start();
      const mine = child;
      await greeted.catch((error: unknown) => {
        // The server did not start; the next call starts another.
        mine?.kill('SIGKILL');
        throw error;
      });
      const result = Result.parse(await request('tools/call', { name, arguments: given }));
      return { isError: result.isError === true, content: result.structuredContent };
    },
    stop: () => {
      isStopped = true;
      child?.kill('SIGKILL');
    },
  };
};
