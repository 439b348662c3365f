import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';

/** An agent's own end of the Model Context Protocol: calls of tools, over the standard streams of a process. */
export type AgentProcess = {
  /** What a tool says. Throws when nobody knows whether it has done anything. */
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

/** Starts the server of the protocol as an agent's host does, and anew whenever it has ended. */
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
    const asked = id === undefined ? undefined : waiting.get(id);
    if (error === undefined) asked?.resolve(result);
    else asked?.reject(new Error(error.message));
  };

  const start = (): void => {
    const mine = spawn(process.execPath, [...args], { env, stdio: ['pipe', 'pipe', 'ignore'] });
    child = mine;
    // What is written to a process that has ended goes nowhere; whoever waits is told that it has.
    mine.stdin.on('error', () => undefined);
    createInterface({ input: mine.stdout }).on('line', hear);
    mine.once('exit', () => {
      child = undefined;
      for (const { reject } of waiting.values()) reject(new Error('the server has ended'));
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
      if (isStopped) throw new Error('the agent has gone');
      if (child === undefined) start();
      const mine = child;
      await greeted.catch((error: unknown) => {
        // Its server never got as far: the next call begins anew.
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
