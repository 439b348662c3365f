import type { Client } from '../bus/client.ts';
import { hintingClient } from '../bus/named-client.ts';
import { EXIT } from './failure.ts';
import { type Line, paintLine } from '../output/painted.ts';
import { printableJson } from '../output/printable.ts';
import type { NextBytes } from './read-tail.ts';
import type { Host } from '../host/commands.ts';
import type { Environment, Terminal } from './environment.ts';
import { UsageError } from './usage-error.ts';

/** Services of the CLI for a command. */
export type Session = {
  /** Connects, runs the work and always closes the connection. */
  readonly use: (work: (client: Client) => Promise<number | undefined>) => Promise<void>;
  /** Runs work that needs no connection. */
  readonly local: (work: () => number | undefined) => Promise<void>;
  readonly lines: (lines: readonly Line[]) => void;
  /** Overwrites the screen. */
  readonly redraw: (lines: readonly Line[]) => void;
  readonly json: (value: unknown) => void;
  readonly warn: (line: string) => void;
  /** Prints a warning that several parts of one command may find once. */
  readonly warnOnce: (line: string) => void;
  /** Prints trusted text unchanged: a script or a drawing. */
  readonly verbatim: (text: string) => void;
  /** Prints untrusted bytes unchanged, for files and pipes. */
  readonly bytes: (data: Uint8Array) => void;
  readonly input: NextBytes | undefined;
  readonly now: () => number;
  readonly words: readonly string[];
  /** Current directory; throws if unknown. */
  readonly directory: () => string;
  /** Current directory, if known. */
  readonly knownDirectory: () => string | undefined;
  /** Directory of the user's own workflows. */
  readonly globalWorkflows: string | undefined;
  /** Undefined if the output is not a terminal. */
  readonly terminal: () => Terminal | undefined;
  readonly host: Host | undefined;
};

const HOME = '\u001b[H';
const CLEAR_REST_OF_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

export type SessionControl = { readonly session: Session; readonly exitCode: () => number };

/** `plain`: print no escape sequences. */
export const createSession = (
  { connect, out, outBytes, err, in: input, now, directory, globalWorkflows, terminal, host }: Environment,
  words: readonly string[],
  plain: () => boolean,
): SessionControl => {
  let exitCode: number = EXIT.ok;
  const warned = new Set<string>();
  const here = (): Terminal | undefined =>
    terminal !== undefined && plain() ? { ...terminal, ansi: false, colour: false } : terminal;
  const session: Session = {
    use: async (work) => {
      const client = hintingClient(await connect(), session.warn);
      try {
        exitCode = (await work(client)) ?? EXIT.ok;
      } finally {
        await client.close();
      }
    },
    local: async (work) => {
      exitCode = work() ?? EXIT.ok;
    },
    // All text passes through here: untrusted text is escaped.
    lines: (lines) => {
      const colour = here()?.colour === true;
      for (const line of lines) out(`${paintLine(line, colour)}\n`);
    },
    // A single write avoids flicker.
    redraw: (lines) => {
      const colour = here()?.colour === true;
      const rows = lines.map((line) => `${paintLine(line, colour)}${CLEAR_REST_OF_LINE}\n`);
      out(`${HOME}${rows.join('')}${CLEAR_BELOW}`);
    },
    json: (value) => out(`${printableJson(value)}\n`),
    warn: (line) => err(`${paintLine(line, false)}\n`),
    warnOnce: (line) => {
      if (warned.has(line)) return;
      warned.add(line);
      session.warn(line);
    },
    verbatim: out,
    bytes: outBytes ?? ((data) => out(Buffer.from(data).toString('utf8'))),
    input,
    now,
    words,
    directory: () => {
      if (directory === undefined) throw new UsageError('current directory unknown');
      return directory;
    },
    knownDirectory: () => directory,
    globalWorkflows,
    terminal: here,
    host,
  };
  return { session, exitCode: () => exitCode };
};
