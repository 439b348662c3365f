import type { Command } from 'commander';

/** Shows below a command's help how it is typed. */
export const withExample = (command: Command, ...lines: readonly string[]): Command =>
  command.addHelpText(
    'after',
    ['', lines.length === 1 ? 'Example:' : 'Examples:', ...lines.map((line) => `  holdpoint ${line}`)].join(
      '\n',
    ),
  );
