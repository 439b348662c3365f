import type { Command } from 'commander';
import { oneOf } from '../kit/arguments.ts';
import { type Shell, SHELLS, completionScript } from './scripts.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';

export const addCompletions = (program: Command, { local, verbatim }: Session): void => {
  withExample(
    program
      .command('completions')
      .alias('completion')
      .description('print a shell script that completes commands and options')
      .argument('<shell>', SHELLS.join(', '), oneOf(SHELLS))
      .action((name: Shell) =>
        local(() => {
          verbatim(completionScript(program, name));
          return undefined;
        }),
      ),
    'completions bash > ~/.local/share/bash-completion/completions/holdpoint',
  );
};
