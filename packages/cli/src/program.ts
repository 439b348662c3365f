import { Command } from 'commander';
import { addApprovals } from './commands/approvals.ts';
import { addArtifacts } from './commands/artifacts.ts';
import { addAudit } from './commands/audit.ts';
import { addCapabilities } from './commands/capabilities.ts';
import { addCircuits } from './commands/circuits.ts';
import { addCompletions } from './commands/completions.ts';
import { addDeadLetters } from './commands/dead-letters.ts';
import { addDoctor } from './commands/doctor.ts';
import { addEffects } from './commands/effects.ts';
import { addFlows } from './commands/flows.ts';
import { addGc } from './commands/gc.ts';
import { addGates } from './commands/gates.ts';
import { addInit } from './commands/init.ts';
import { addJobs } from './commands/jobs.ts';
import { addMcp } from './commands/mcp.ts';
import { addRecovery } from './commands/recovery.ts';
import { addRules } from './commands/rules.ts';
import { addRun } from './commands/run.ts';
import { addTask } from './commands/task.ts';
import { addTokens } from './commands/tokens.ts';
import { addTop } from './commands/top.ts';
import { addUndo } from './commands/undo.ts';
import { reportFailure } from './failure.ts';
import { printableLines } from './printable.ts';
import { spellCommandLine } from './run/spelled.ts';
import { createSession } from './session.ts';
import type { Surroundings } from './surroundings.ts';

/** It is no part of this program: it knows more of the repository than the command line may. */
const CHAOS =
  '\nFrom a clone, `npm run holdpoint -- chaos` breaks a Holdpoint under load and checks what it promises.';

const DESCRIPTION = 'Hold every side effect until somebody entitled to it approves that exact effect.';

const COMMANDS = [
  addRun,
  addJobs,
  addFlows,
  addGates,
  addInit,
  addTask,
  addApprovals,
  addRules,
  addEffects,
  addTokens,
  addAudit,
  addRecovery,
  addCircuits,
  addArtifacts,
  addUndo,
  addCapabilities,
  addDeadLetters,
  addDoctor,
  addTop,
  addGc,
  addMcp,
  addCompletions,
] as const;

const emptyProgram = ({ out, err }: Surroundings): Command =>
  new Command('holdpoint')
    .description(DESCRIPTION)
    .option('--no-ansi', 'neither colours nor other escape sequences')
    .addHelpText('after', CHAOS)
    // Before any subcommand is made: these settings are inherited when one is.
    .exitOverride()
    .configureOutput({
      // What was wrong is repeated, and it may have come from a script that took it from somewhere.
      writeOut: (text) => out(printableLines(text).join('\n')),
      writeErr: (text) => err(printableLines(text).join('\n')),
      outputError: (text, say) => say(text.replace(/^error: /, 'error USAGE: ')),
    })
    .showHelpAfterError('(--help shows how)');

/** The whole command line, for the words that were typed. */
export const createProgram = (
  surroundings: Surroundings,
  words: readonly string[],
): { readonly program: Command; readonly exitCode: () => number } => {
  const program = emptyProgram(surroundings);
  const { session, exitCode } = createSession(surroundings, words, () => program.opts()['ansi'] === false);
  for (const add of COMMANDS) add(program, session);
  return { program, exitCode };
};

/** Runs one command line; resolves to the exit code. */
export const runProgram = async (words: readonly string[], surroundings: Surroundings): Promise<number> => {
  const { program, exitCode } = createProgram(surroundings, words);
  try {
    await program.parseAsync(spellCommandLine(words, program, 'run'), { from: 'user' });
    return exitCode();
  } catch (error) {
    const { code, line } = reportFailure(error);
    if (line !== undefined) surroundings.err(`${line}\n`);
    return code;
  }
};
