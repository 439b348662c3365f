import { ERRORS } from '@holdpoint/contracts/values/errors';
import type { Argument, Command, Option } from 'commander';

/** What brings the reference up to date. */
export const GENERATE_COMMAND = 'node packages/cli/generate.ts';

/** Text of a table's cell, in which a bar would end it and a tag would be one. */
const cell = (text: string): string =>
  text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('\n', ' ');

const table = (
  head: readonly [string, string],
  rows: readonly (readonly [string, string])[],
): readonly string[] =>
  rows.length === 0
    ? []
    : [
        `| ${head[0]} | ${head[1]} |`,
        '|---|---|',
        ...rows.map(([name, what]) => `| ${name} | ${cell(what)} |`),
        '',
      ];

const argumentName = (argument: Argument): string => {
  const text = `${argument.name()}${argument.variadic ? '...' : ''}`;
  return argument.required ? `<${text}>` : `[${text}]`;
};

const optionText = ({ description, defaultValue, mandatory }: Option): string => {
  const shown: unknown = defaultValue;
  const otherwise =
    typeof shown === 'string' || typeof shown === 'number' ? ` (${String(shown)}, when left out)` : '';
  return `${description}${mandatory ? ' (needed)' : ''}${otherwise}`;
};

const childrenOf = (command: Command): readonly Command[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .filter((child) => child.name() !== 'help');

const optionsOf = (command: Command): readonly Option[] =>
  command
    .createHelp()
    .visibleOptions(command)
    .filter(({ long }) => long !== '--help');

/** One command, and then those below it. */
const sections = (command: Command, path: string, depth: number): readonly string[] => {
  const usage = [path, ...command.registeredArguments.map(argumentName)].join(' ');
  const children = childrenOf(command);
  return [
    `${'#'.repeat(Math.min(depth, 4))} ${path}`,
    '',
    ...(children.length > 0 ? [] : [`\`${usage}\``, '']),
    `${command.description().charAt(0).toUpperCase()}${command.description().slice(1)}.`.replace(
      /\.\.$/,
      '.',
    ),
    '',
    ...table(
      ['argument', 'what'],
      command.registeredArguments.map((argument) => [`\`${argumentName(argument)}\``, argument.description]),
    ),
    ...table(
      ['option', 'what'],
      optionsOf(command).map((option) => [`\`${option.flags}\``, optionText(option)]),
    ),
    ...children.flatMap((child) => sections(child, `${path} ${child.name()}`, depth + 1)),
  ];
};

const GENERATED = `<!-- Generated from the program: ${GENERATE_COMMAND} brings it up to date. -->`;

/** Every command with its arguments and options, as the program itself has them. */
export const commandReference = (program: Command): string =>
  [
    '# Command line',
    '',
    GENERATED,
    '',
    'What is the same for all: exit code 0 when all went well, 1 when it was refused or failed, 2 when the command line was wrong, 10 when it waits for a person. Errors go to standard error as `error <CODE>: <text>`; codes are promises, texts are not.',
    '',
    ...table(
      ['option of all', 'what'],
      optionsOf(program).map((option) => [`\`${option.flags}\``, optionText(option)]),
    ),
    ...childrenOf(program).flatMap((child) => sections(child, child.name(), 2)),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');

const SIDES: Readonly<Record<string, string>> = {
  ERR: 'everywhere',
  CONTRACT: 'what a message is',
  RUNTIME: 'the services themselves',
  ORCHESTRATOR: 'tasks',
  NODE: 'how a node ended',
  APPROVALS: 'approvals, tokens, rules',
  EXECUTOR: 'effects',
  RECOVERY: 'recovery',
};

/** Every error that a caller, a dead letter or an event may carry. */
export const errorReference = (): string =>
  [
    '# Errors',
    '',
    GENERATED,
    '',
    'An error is `{"code", "message", "details"}`. Codes are promises, texts are not; a later release may know more of them. The number is what the NATS services framework and HTTP report.',
    '',
    '| code | number | about |',
    '|---|---|---|',
    ...Object.entries(ERRORS).map(
      ([code, status]) =>
        `| \`${code}\` | ${String(status)} | ${SIDES[code.slice(0, code.indexOf('_'))] ?? 'other'} |`,
    ),
    '',
  ].join('\n');
