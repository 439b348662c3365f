import type { Command } from 'commander';

/** The words that select a command, such as `task list`; empty for the root. */
export const commandPath = (command: Command): string =>
  command.parent === null
    ? ''
    : [commandPath(command.parent), command.name()].filter((name) => name !== '').join(' ');

/** Appends examples to a command's help. */
export const withExample = (command: Command, ...lines: readonly string[]): Command =>
  command.addHelpText(
    'after',
    ['', lines.length === 1 ? 'Example:' : 'Examples:', ...lines.map((line) => `  holdpoint ${line}`)].join(
      '\n',
    ),
  );
