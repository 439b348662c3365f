import { reportField, entriesOf, entryOf, type Field, tableOf, textsOf } from './fields.ts';
import { aliasOf, undotted } from './selector.ts';

type Command = readonly string[];

/** The commands of agents: by template, else by alias, else the fallback. */
export type AgentsConfig = {
  readonly fallback?: Command;
  readonly commands: ReadonlyMap<string, Command>;
  readonly templates: ReadonlyMap<string, Command>;
};

export const NO_AGENTS: AgentsConfig = { commands: new Map(), templates: new Map() };

const WORDS_MAX = 256;
const WORD_MAX = 4_096;

const readCommand = (field: Field | undefined): Command | undefined => {
  const command = textsOf(field);
  if (field === undefined || command === undefined) return undefined;
  const [executable = ''] = command;
  const tooLong = command.length > WORDS_MAX || command.some(({ length }) => length > WORD_MAX);
  if (executable !== '' && !tooLong && !command.some((word) => word.includes('\0'))) return command;
  const found =
    executable === '' ? 'an empty command' : tooLong ? 'a command that is too long' : 'a NUL character';
  const expected = `a command and its arguments, at most ${String(WORDS_MAX)} words of ${String(WORD_MAX)} characters`;
  reportField(field, 'WORKFLOW_CONFIG_AGENT', found, expected);
  return undefined;
};

/** A bare agent name does not say how to run it, so it is reported and ignored. */
const readScope = (field: Field | undefined): Command | undefined => {
  const scope = tableOf(field, ['agent']);
  const agent = scope === undefined ? undefined : entryOf(scope, 'agent');
  if (agent !== undefined && !agent.strict && typeof agent.value === 'string') {
    const found = `the name ${JSON.stringify(agent.value)}`;
    reportField(agent, 'WORKFLOW_CONFIG_IGNORED', found, 'agent.command', { severity: 'warning' });
    return undefined;
  }
  const table = tableOf(agent, ['command']);
  return table === undefined ? undefined : readCommand(entryOf(table, 'command'));
};

/** Vizier no longer supports dotted selectors: one would never match. */
export const refuseDotted = (field: Field, selector: string): void => {
  const meant = undotted(selector);
  if (meant !== undefined)
    reportField(field, 'WORKFLOW_CONFIG_REMOVED', JSON.stringify(selector), JSON.stringify(meant));
};

const readCommands = (field: Field | undefined): ReadonlyMap<string, Command> =>
  new Map(
    entriesOf(field).flatMap(([alias, entry]) => {
      const command = readScope(entry);
      return command === undefined ? [] : [[aliasOf(alias), command] as const];
    }),
  );

const readTemplates = (field: Field | undefined): ReadonlyMap<string, Command> =>
  new Map(
    entriesOf(field).flatMap(([selector, entry]) => {
      refuseDotted(entry, selector);
      const command = readScope(entry);
      return command === undefined ? [] : [[selector, command] as const];
    }),
  );

const SCOPES: readonly string[] = ['default', 'commands', 'templates'];

export const readAgents = (field: Field | undefined): AgentsConfig => {
  if (field === undefined) return NO_AGENTS;
  for (const [key, entry] of entriesOf(field)) {
    if (SCOPES.includes(key)) continue;
    reportField(entry, 'WORKFLOW_CONFIG_REMOVED', `[agents.${key}]`, `[agents.commands.${key}]`);
  }
  const fallback = readScope(entryOf(field, 'default'));
  return {
    ...(fallback === undefined ? {} : { fallback }),
    commands: readCommands(entryOf(field, 'commands')),
    templates: readTemplates(entryOf(field, 'templates')),
  };
};
