import type { Client } from '../bus/client.ts';
import type { NextBytes } from './read-tail.ts';

/** The terminal that the output goes to. */
export type Terminal = {
  readonly columns: number;
  /** It understands escape sequences. */
  readonly ansi: boolean;
  readonly colour: boolean;
  /** One line that somebody typed; undefined when `signal` comes first, or nobody is there to answer. */
  readonly ask: (question: string, signal: AbortSignal) => Promise<string | undefined>;
};

/** The world as the commands see it. */
export type Surroundings = {
  readonly connect: () => Promise<Client>;
  readonly out: (text: string) => void;
  /** The same for bytes. Without it they are taken for text. */
  readonly outBytes?: ((data: Uint8Array) => void) | undefined;
  readonly err: (text: string) => void;
  /** Standard input: the next bytes of it, none at its end. */
  readonly in?: NextBytes | undefined;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** Where the user stands. Without one, no file is read or written. */
  readonly directory?: string | undefined;
  /** The folder of this user's own flows. */
  readonly globalWorkflows?: string | undefined;
  readonly terminal?: Terminal | undefined;
};
