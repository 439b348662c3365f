import { VERSION } from '@holdpoint/contracts/values/version';
import { Command } from 'commander';
import { addAdmin } from './admin/commands.ts';
import { addApproval } from './approval/commands.ts';
import { addArtifact } from './artifact/commands.ts';
import { addAudit } from './audit/commands.ts';
import { addCapability } from './capability/commands.ts';
import { addCircuit } from './circuit/commands.ts';
import { addCompletions } from './completions/commands.ts';
import { completionsOf } from './completions/scripts.ts';
import { addDeadLetters } from './dlq/commands.ts';
import { addEffect } from './effect/commands.ts';
import { addHost } from './host/commands.ts';
import { addProvision } from './host/provision.ts';
import { EXIT, reportFailure } from './kit/failure.ts';
import { printableLines } from './output/printable.ts';
import { spellCommandLine } from './workflow/spell.ts';
import { addMcp } from './mcp/commands.ts';
import { addRecovery } from './recovery/commands.ts';
import { addExecutor } from './executor/commands.ts';
import { addConsole } from './console/commands.ts';
import { addNats } from './nats/commands.ts';
import { addPeople } from './people/commands.ts';
import { addPolicy } from './policy/commands.ts';
import { addRule } from './rule/commands.ts';
import { addJobs } from './task/jobs.ts';
import { addTask } from './task/commands.ts';
import { addToken, addWhoami } from './token/commands.ts';
import { addUpgrade } from './upgrade/commands.ts';
import { addWorkflow } from './workflow/commands.ts';
import { addInit } from './workflow/init.ts';
import { addRun } from './workflow/run.ts';
import { createSession } from './kit/session.ts';
import type { Environment } from './kit/environment.ts';

const FOOTER = `
\`holdpoint --version\` prints the version.
Aliases: \`run\` is \`workflow run\`; \`jobs\` holds \`task\`, \`approval\` and \`admin\` commands; plurals work too (\`approvals\`).
From a clone, \`npm run torture\` runs the torture test: random faults under load, with checked guarantees.`;

const DESCRIPTION = 'hold every side effect until an entitled approver approves that exact effect';

const COMMANDS = [
  addTask,
  addApproval,
  addEffect,
  addRule,
  addPolicy,
  addPeople,
  addToken,
  addAudit,
  addRecovery,
  addCircuit,
  addExecutor,
  addArtifact,
  addCapability,
  addDeadLetters,
  addWorkflow,
  addAdmin,
  addHost,
  addProvision,
  addNats,
  addUpgrade,
  addMcp,
  addCompletions,
  addWhoami,
  addConsole,
  addRun,
  addInit,
  addJobs,
] as const;

/** Suggests `admin doctor` for `doctor`, where commander knows no similar command. */
const withSuggestion = (text: string, program: Command): string => {
  const [, word] = /unknown command '([a-z-]+)'/.exec(text) ?? [];
  if (word === undefined || text.includes('Did you mean')) return text;
  const path = completionsOf(program).find((completion) => completion.path.endsWith(` ${word}`))?.path;
  return path === undefined ? text : `${text.trimEnd()}\n(Did you mean ${path}?)\n`;
};

const emptyProgram = ({ out, err }: Environment): Command => {
  const program = new Command('holdpoint');
  return (
    program
      .description(DESCRIPTION)
      .option('--no-ansi', 'print no colours and no escape sequences')
      .addHelpText('after', FOOTER)
      // Set before subcommands exist: they inherit these settings.
      .exitOverride()
      .configureOutput({
        // Error texts repeat arguments, which can be untrusted.
        writeOut: (text) => out(printableLines(text).join('\n')),
        writeErr: (text) => err(printableLines(text).join('\n')),
        outputError: (text, write) =>
          write(withSuggestion(text, program).replace(/^error: /, 'error USAGE: ')),
      })
      .showHelpAfterError('(see --help)')
  );
};

/** The command line; `words` are its arguments. */
export const createProgram = (
  environment: Environment,
  words: readonly string[],
): { readonly program: Command; readonly exitCode: () => number } => {
  const program = emptyProgram(environment);
  const { session, exitCode } = createSession(environment, words, () => program.opts()['ansi'] === false);
  for (const add of COMMANDS) add(program, session);
  return { program, exitCode };
};

/** Runs one command line. Resolves to the exit code. */
export const runProgram = async (words: readonly string[], environment: Environment): Promise<number> => {
  // Not a commander option: it would shadow `task fork --version`.
  if (words.length === 1 && words[0] === '--version') {
    environment.out(`${VERSION}\n`);
    return EXIT.ok;
  }
  const { program, exitCode } = createProgram(environment, words);
  try {
    await program.parseAsync(spellCommandLine(words, program), { from: 'user' });
    return exitCode();
  } catch (error) {
    const { code, line } = reportFailure(error);
    if (line !== undefined) environment.err(`${line}\n`);
    return code;
  }
};
