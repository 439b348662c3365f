import { ERRORS } from '@holdpoint/contracts/values/errors';
import type { Argument, Command, Option } from 'commander';

export const GENERATE_COMMAND = 'node packages/cli/generate.ts';

/** Escapes the text of a table cell. */
export const cell = (text: string): string =>
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
    typeof shown === 'string' || typeof shown === 'number' ? ` (default: ${String(shown)})` : '';
  return `${description}${mandatory ? ' (required)' : ''}${otherwise}`;
};

/** Groups that only repeat commands of other groups, and the command behind each alias. */
const ALIASES: Readonly<Record<string, string>> = {
  run: 'workflow run',
  init: 'workflow init',
  'jobs list': 'task jobs',
  'jobs show': 'task show',
  'jobs status': 'task show --brief',
  'jobs schedule': 'task schedule',
  'jobs tail': 'task tail',
  'jobs attach': 'task tail --follow',
  'jobs approve': 'approval approve',
  'jobs reject': 'approval reject',
  'jobs cancel': 'task cancel',
  'jobs pause': 'task pause',
  'jobs resume': 'task resume',
  'jobs retry': 'task retry',
  'jobs skip': 'task skip',
  'jobs gc': 'admin gc',
};

export const isAlias = (path: string): boolean => path === 'jobs' || path in ALIASES;

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

/** A command, then its subcommands. */
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
      ['argument', 'description'],
      command.registeredArguments.map((argument) => [`\`${argumentName(argument)}\``, argument.description]),
    ),
    ...table(
      ['option', 'description'],
      optionsOf(command).map((option) => [`\`${option.flags}\``, optionText(option)]),
    ),
    ...children.flatMap((child) => sections(child, `${path} ${child.name()}`, depth + 1)),
  ];
};

const GENERATED = `<!-- Generated from the source: update with ${GENERATE_COMMAND}. -->`;

/** Every command with its arguments and options. */
export const commandReference = (program: Command): string =>
  [
    '# Command line',
    '',
    GENERATED,
    '',
    'Exit codes of all commands: 0 success, 1 refused or failed, 2 invalid command line, 10 waiting for an approver or operator. Errors go to standard error as `error <CODE>: <text>`. Codes are stable, texts are not.',
    '',
    ...table(
      ['global option', 'description'],
      optionsOf(program).map((option) => [`\`${option.flags}\``, optionText(option)]),
    ),
    ...childrenOf(program)
      .filter((child) => !isAlias(child.name()))
      .flatMap((child) => sections(child, child.name(), 2)),
    '## Aliases',
    '',
    'The plural of a group works too: `approvals list`. So do `task get`, `approval respond`, `approval deny`, `recovery stuck` and `capability show`. `--format json` means `--json`, and `--format text` its absence.',
    '',
    ...table(
      ['alias', 'command'],
      Object.entries(ALIASES).map(([alias, command]) => [`\`${alias}\``, `\`${command}\``]),
    ),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');

const SIDES: Readonly<Record<string, string>> = {
  ERR: 'all services',
  CONTRACT: 'message format',
  RUNTIME: 'service runtime',
  BUS: 'NATS: logins, accounts, limits',
  ORCHESTRATOR: 'tasks',
  NODE: 'node outcomes',
  APPROVALS: 'approvals, tokens, rules',
  IDENTITY: 'identity of senders',
  EXECUTOR: 'effects',
  RECOVERY: 'recovery',
};

/** Every error code of the API, dead letters and events. */
export const errorReference = (): string =>
  [
    '# Errors',
    '',
    GENERATED,
    '',
    'An error is `{"code", "message", "details"}`. Codes are stable, texts are not; later releases may add codes. The number is the status code in NATS and HTTP responses.',
    '',
    '| code | number | area |',
    '|---|---|---|',
    ...Object.entries(ERRORS).map(
      ([code, status]) =>
        `| \`${code}\` | ${String(status)} | ${SIDES[code.slice(0, code.indexOf('_'))] ?? 'other'} |`,
    ),
    '',
  ].join('\n');
