import { Command } from 'commander';
import { addApprovals } from './approval/commands.ts';
import { addArtifacts } from './artifact/commands.ts';
import { addAudit } from './audit/commands.ts';
import { addCapabilities } from './capability/commands.ts';
import { addCircuits } from './circuit/commands.ts';
import { addCompletions } from './completions/commands.ts';
import { addDeadLetters } from './dlq/commands.ts';
import { addDoctor } from './admin/doctor.ts';
import { addEffects } from './effect/commands.ts';
import { addFlows } from './workflow/graph-validate.ts';
import { addGc } from './admin/gc.ts';
import { addGates } from './workflow/gates.ts';
import { addInit } from './workflow/init.ts';
import { addJobs } from './task/jobs.ts';
import { addMcp } from './mcp/commands.ts';
import { addRecovery } from './recovery/commands.ts';
import { addRules } from './rule/commands.ts';
import { addRun } from './workflow/run.ts';
import { addTask } from './task/commands.ts';
import { addTokens } from './token/commands.ts';
import { addTop } from './admin/top.ts';
import { addUndo } from './effect/undo.ts';
import { reportFailure } from './kit/failure.ts';
import { printableLines } from './output/printable.ts';
import { spellCommandLine } from './workflow/spell.ts';
import { createSession } from './kit/session.ts';
import type { Surroundings } from './kit/environment.ts';

/** It is no part of this program: it knows more of the repository than the command line may. */
const CHAOS =
  '\nFrom a clone, `npm run torture` breaks a Holdpoint under load and checks what it promises.';

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
