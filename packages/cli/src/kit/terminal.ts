import { createInterface } from 'node:readline/promises';
import type { Terminal } from './environment.ts';

const COLUMNS = 80;

type Environment = Readonly<Record<string, string | undefined>>;

const ask = async (question: string, signal: AbortSignal): Promise<string | undefined> => {
  if (!process.stdin.isTTY) return undefined;
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // The readline interface would swallow Ctrl-C.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return await terminal.question(question, { signal });
  } catch (error) {
    if (signal.aborted) return undefined;
    throw error;
  } finally {
    terminal.close();
  }
};

/** The terminal of this process; undefined if the output is redirected. */
export const findTerminal = (env: Environment): Terminal | undefined => {
  if (!process.stdout.isTTY) return undefined;
  const ansi = env['TERM'] !== 'dumb';
  return { columns: process.stdout.columns || COLUMNS, ansi, colour: ansi && !env['NO_COLOR'], ask };
};
