import type { Client } from '../bus/client.ts';
import { EXIT } from './failure.ts';
import { type Line, paintLine } from '../output/painted.ts';
import { printableJson } from '../output/printable.ts';
import type { NextBytes } from './read-tail.ts';
import type { Surroundings, Terminal } from './environment.ts';
import { UsageError } from './usage-error.ts';

/** What a command is given to do its work. */
export type Session = {
  /** Connects, does the work, and closes the connection whatever happens. */
  readonly use: (work: (client: Client) => Promise<number | undefined>) => Promise<void>;
  /** The same for work that asks no service. */
  readonly local: (work: () => number | undefined) => Promise<void>;
  readonly lines: (lines: readonly Line[]) => void;
  /** The same in place of what the terminal shows. */
  readonly redraw: (lines: readonly Line[]) => void;
  readonly json: (value: unknown) => void;
  /** To standard error. */
  readonly warn: (line: string) => void;
  /** A text of this program's own, as it is: a script, a drawing. */
  readonly verbatim: (text: string) => void;
  /** What somebody else made, byte for byte: for files and pipes. */
  readonly bytes: (data: Uint8Array) => void;
  /** Standard input; undefined where there is none. */
  readonly input: NextBytes | undefined;
  readonly now: () => number;
  /** The command line as it was typed. */
  readonly words: readonly string[];
  /** Where the user stands, for a command that has to know it. */
  readonly directory: () => string;
  /** The same where it need not be known. */
  readonly place: () => string | undefined;
  /** The folder of this user's own flows, which any repository may use. */
  readonly globalWorkflows: string | undefined;
  /** Undefined where the output goes anywhere else. */
  readonly terminal: () => Terminal | undefined;
};

const HOME = '\u001b[H';
const CLEAR_REST_OF_LINE = '\u001b[K';
const CLEAR_BELOW = '\u001b[J';

export type SessionControl = { readonly session: Session; readonly exitCode: () => number };

/** `plain`: the command line asked for no escape sequences. */
export const createSession = (
  { connect, out, outBytes, err, in: input, now, directory, globalWorkflows, terminal }: Surroundings,
  words: readonly string[],
  plain: () => boolean,
): SessionControl => {
  let exitCode: number = EXIT.ok;
  const here = (): Terminal | undefined =>
    terminal !== undefined && plain() ? { ...terminal, ansi: false, colour: false } : terminal;
  const session: Session = {
    use: async (work) => {
      const client = await connect();
      try {
        exitCode = (await work(client)) ?? EXIT.ok;
      } finally {
        await client.close();
      }
    },
    local: async (work) => {
      exitCode = work() ?? EXIT.ok;
    },
    // The one way out for text: whatever a service or a submitter wrote, a terminal only shows it.
    lines: (lines) => {
      const colour = here()?.colour === true;
      for (const line of lines) out(`${paintLine(line, colour)}\n`);
    },
    // In one piece, and over what stands there: nobody sees half of it, and nothing flickers.
    redraw: (lines) => {
      const colour = here()?.colour === true;
      const rows = lines.map((line) => `${paintLine(line, colour)}${CLEAR_REST_OF_LINE}\n`);
      out(`${HOME}${rows.join('')}${CLEAR_BELOW}`);
    },
    json: (value) => out(`${printableJson(value)}\n`),
    warn: (line) => err(`${paintLine(line, false)}\n`),
    verbatim: out,
    bytes: outBytes ?? ((data) => out(Buffer.from(data).toString('utf8'))),
    input,
    now,
    words,
    directory: () => {
      if (directory === undefined) throw new UsageError('there is no directory to look into');
      return directory;
    },
    place: () => directory,
    globalWorkflows,
    terminal: here,
  };
  return { session, exitCode: () => exitCode };
};
