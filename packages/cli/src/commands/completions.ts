import type { Command } from 'commander';
import { oneOf } from '../arguments.ts';
import { type Shell, SHELLS, completionScript } from '../completions.ts';
import { withExample } from '../example.ts';
import type { Session } from '../session.ts';

export const addCompletions = (program: Command, { local, verbatim }: Session): void => {
  withExample(
    program
      .command('completions')
      .description('print a script that completes commands and options in a shell')
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
