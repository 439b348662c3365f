import { Command } from 'commander';
import type { Client } from './client.ts';
import { addApprovals } from './commands/approvals.ts';
import { addDeadLetters } from './commands/dead-letters.ts';
import { addEffects } from './commands/effects.ts';
import { addTask } from './commands/task.ts';
import { EXIT, reportFailure } from './failure.ts';
import { printable, printableJson, printableLines } from './printable.ts';

/** The world as the commands see it. */
export type Surroundings = {
  readonly connect: () => Promise<Client>;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  /** Epoch milliseconds. */
  readonly now: () => number;
};

/** What a command is given to do its work. */
export type Session = {
  /** Connects, does the work, and closes the connection whatever happens. */
  readonly use: (work: (client: Client) => Promise<number | undefined>) => Promise<void>;
  readonly lines: (lines: readonly string[]) => void;
  readonly json: (value: unknown) => void;
  readonly now: () => number;
};

/** It is no part of this program: it knows more of the repository than the command line may. */
const CHAOS =
  '\nFrom a clone, `npm run holdpoint -- chaos` breaks a Holdpoint under load and checks what it promises.';

const DESCRIPTION = 'Hold every side effect until somebody entitled to it approves that exact effect.';

/** Runs one command line; resolves to the exit code. */
export const runProgram = async (
  args: readonly string[],
  { connect, out, err, now }: Surroundings,
): Promise<number> => {
  let exitCode: number = EXIT.ok;
  const session: Session = {
    use: async (work) => {
      const client = await connect();
      try {
        exitCode = (await work(client)) ?? EXIT.ok;
      } finally {
        await client.close();
      }
    },
    // The one way out for text: whatever a service or a submitter wrote, a terminal only shows it.
    lines: (lines) => lines.forEach((line) => out(`${printable(line)}\n`)),
    json: (value) => out(`${printableJson(value)}\n`),
    now,
  };
  const program = new Command('holdpoint')
    .description(DESCRIPTION)
    .addHelpText('after', CHAOS)
    // Before any subcommand is made: these settings are inherited when one is.
    .exitOverride()
    .configureOutput({
      // What was wrong is repeated, and it may have come from a script that took it from somewhere.
      writeOut: (text) => out(printableLines(text).join('\n')),
      writeErr: (text) => err(printableLines(text).join('\n')),
      outputError: (text, write) => write(text.replace(/^error: /, 'error USAGE: ')),
    })
    .showHelpAfterError('(--help shows how)');
  for (const add of [addTask, addApprovals, addEffects, addDeadLetters]) add(program, session);
  try {
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    const { code, line } = reportFailure(error);
    if (line !== undefined) err(`${line}\n`);
    return code;
  }
};
