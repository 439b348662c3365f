import type { Client } from '../bus/client.ts';
import type { Host } from '../host/commands.ts';
import type { NextBytes } from './read-tail.ts';

export type Terminal = {
  readonly columns: number;
  /** Supports escape sequences. */
  readonly ansi: boolean;
  readonly colour: boolean;
  /** One typed line; undefined when `signal` aborts, or without a user at the terminal. */
  readonly ask: (question: string, signal: AbortSignal) => Promise<string | undefined>;
};

/** Input, output and environment of the commands. */
export type Environment = {
  readonly connect: () => Promise<Client>;
  readonly out: (text: string) => void;
  /** Raw bytes (default: written as text). */
  readonly outBytes?: ((data: Uint8Array) => void) | undefined;
  readonly err: (text: string) => void;
  /** Reads the next bytes of standard input; zero at its end. */
  readonly in?: NextBytes | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Current directory. Without it, no file is read or written. */
  readonly directory?: string | undefined;
  /** Directory of the user's own workflows. */
  readonly globalWorkflows?: string | undefined;
  readonly terminal?: Terminal | undefined;
  /** Absent where the command line is alone. */
  readonly host?: Host | undefined;
};
