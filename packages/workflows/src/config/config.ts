import { type AgentsConfig, NO_AGENTS, readAgents, refuseDotted } from './agents.ts';
import {
  reportField,
  entriesOf,
  entryOf,
  type Field,
  flagOf,
  oneOf,
  tableOf,
  textOf,
  textsOf,
} from './fields.ts';
import { parseConfigText } from './text.ts';
import type { Problem } from '../problems/problem.ts';
import { aliasOf, pathOf } from './selector.ts';

/** The default display of a job list. */
export type ListDisplay = {
  readonly format?: 'block' | 'table' | 'json';
  readonly fields?: readonly string[];
  readonly labels: ReadonlyMap<string, string>;
  readonly showSucceeded?: boolean;
};

/** The workflow settings of a repository. */
export type WorkflowConfig = {
  /** File or selector by alias, normalised with `aliasOf`. */
  readonly commands: ReadonlyMap<string, string>;
  readonly agents: AgentsConfig;
  /** A folder outside of the repository with templates; an empty name means the default folder. */
  readonly globalWorkflows: { readonly enabled: boolean; readonly dir: string };
  readonly cancel: { readonly cleanupWorktree: boolean };
  readonly display: { readonly jobs: ListDisplay; readonly jobsShow: ListDisplay };
};

export type ConfigResult = { readonly config?: WorkflowConfig; readonly problems: readonly Problem[] };

export const DEFAULT_CONFIG: WorkflowConfig = {
  commands: new Map(),
  agents: NO_AGENTS,
  globalWorkflows: { enabled: true, dir: '' },
  cancel: { cleanupWorktree: false },
  display: { jobs: { labels: new Map() }, jobsShow: { labels: new Map() } },
};

const readCommands = (field: Field | undefined): ReadonlyMap<string, string> => {
  const commands = new Map<string, string>();
  for (const [key, entry] of entriesOf(field)) {
    const alias = aliasOf(key);
    const flow = textOf(entry)?.trim();
    if (flow === undefined) continue;
    if (alias === '' || flow === '')
      reportField(entry, 'WORKFLOW_CONFIG_ALIAS', 'an empty name', 'alias = "selector"');
    else if (commands.has(alias))
      reportField(
        entry,
        'WORKFLOW_CONFIG_ALIAS',
        `${alias} twice`,
        'each alias once; space, - and _ are the same',
      );
    if (pathOf(flow) === undefined) refuseDotted(entry, flow);
    commands.set(alias, flow);
  }
  return commands;
};

const within = (field: Field | undefined, key: string, known: readonly string[]): Field | undefined =>
  field === undefined ? undefined : tableOf(entryOf(field, key), known);

/** A relative path would mean a different folder in every repository. */
const readFolder = (field: Field | undefined): string | undefined => {
  const folder = textOf(field);
  if (field !== undefined && folder !== undefined && !/^$|^\/|^[A-Za-z]:[\\/]/.test(folder))
    reportField(
      field,
      'WORKFLOW_CONFIG_FOLDER',
      JSON.stringify(folder),
      'an absolute path, or "" for the default folder',
    );
  return folder;
};

const readWorkflow = (root: Field): WorkflowConfig['globalWorkflows'] => {
  const workflow = within(root, 'workflow', ['global_workflows', 'templates']);
  const removed = workflow === undefined ? undefined : entryOf(workflow, 'templates');
  if (removed !== undefined)
    reportField(
      removed,
      'WORKFLOW_CONFIG_REMOVED',
      '[workflow.templates]',
      '[commands] with alias = "selector"',
    );
  const table = within(workflow, 'global_workflows', ['enabled', 'dir']);
  const { enabled, dir } = DEFAULT_CONFIG.globalWorkflows;
  if (table === undefined) return { enabled, dir };
  return {
    enabled: flagOf(entryOf(table, 'enabled')) ?? enabled,
    dir: readFolder(entryOf(table, 'dir')) ?? dir,
  };
};

const readCancel = (root: Field): WorkflowConfig['cancel'] => {
  const table = within(within(root, 'jobs', ['cancel']), 'cancel', ['cleanup_worktree']);
  const flag = table === undefined ? undefined : flagOf(entryOf(table, 'cleanup_worktree'));
  return flag === undefined ? DEFAULT_CONFIG.cancel : { cleanupWorktree: flag };
};

const readLabels = (field: Field | undefined): ReadonlyMap<string, string> =>
  new Map(
    entriesOf(field).flatMap(([key, entry]) => {
      const label = textOf(entry);
      return label === undefined ? [] : [[key, label] as const];
    }),
  );

const readList = (lists: Field | undefined, key: string): ListDisplay => {
  const table = within(lists, key, ['format', 'fields', 'labels', 'show_succeeded']);
  if (table === undefined) return { labels: new Map() };
  const format = oneOf(entryOf(table, 'format'), ['block', 'table', 'json']);
  const fields = textsOf(entryOf(table, 'fields'));
  const showSucceeded = flagOf(entryOf(table, 'show_succeeded'));
  return {
    labels: readLabels(entryOf(table, 'labels')),
    ...(format === undefined ? {} : { format }),
    ...(fields === undefined ? {} : { fields }),
    ...(showSucceeded === undefined ? {} : { showSucceeded }),
  };
};

const readDisplay = (root: Field): WorkflowConfig['display'] => {
  const lists = within(within(root, 'display', ['lists']), 'lists', ['jobs', 'jobs_show']);
  return { jobs: readList(lists, 'jobs'), jobsShow: readList(lists, 'jobs_show') };
};

/** Tables that look as if they made a workflow safer, but have no effect. */
const IGNORED_TABLES = [
  ['merge', 'cicd_gate', 'cicd_script'],
  ['approve', 'stop_condition', 'stop_condition_script'],
] as const;

const warnAboutIgnoredTables = (root: Field): void => {
  if (root.strict) return;
  for (const [table, key, parameter] of IGNORED_TABLES) {
    const outer = entryOf(root, table);
    const entry = outer === undefined ? undefined : entryOf(outer, key);
    if (entry === undefined) continue;
    const instead = `${parameter} in [params] of the template, or --set ${parameter}=…; then delete this table`;
    reportField(entry, 'WORKFLOW_CONFIG_IGNORED', `[${table}.${key}]`, instead, { severity: 'warning' });
  }
};

const TABLES = ['commands', 'agents', 'workflow', 'jobs', 'display'];

const readRoot = (root: Field): WorkflowConfig => {
  tableOf(root, TABLES);
  warnAboutIgnoredTables(root);
  return {
    commands: readCommands(entryOf(root, 'commands')),
    agents: readAgents(entryOf(root, 'agents')),
    globalWorkflows: readWorkflow(root),
    cancel: readCancel(root),
    display: readDisplay(root),
  };
};

/** A Vizier configuration contains settings that Holdpoint does not know. */
const isVizier = (file: string): boolean => file.split(/[/\\]/).includes('.vizier');

/** Reads a configuration and reports all problems at once. Returns settings only without errors. */
export const readWorkflowConfig = (text: string, file: string): ConfigResult => {
  const parsed = parseConfigText(text, file);
  if ('problem' in parsed) return { problems: [parsed.problem] };
  const problems: Problem[] = [];
  const report = (problem: Problem): void => {
    problems.push(problem);
  };
  const config = readRoot({ value: parsed.value, path: '', file, strict: !isVizier(file), report });
  return problems.some(({ severity }) => severity === 'error') ? { problems } : { config, problems };
};

/** The agent command for a workflow: by template, else by alias, else the fallback. */
export const agentFor = (
  { agents }: WorkflowConfig,
  { alias, selector }: { readonly alias?: string | undefined; readonly selector?: string | undefined },
): readonly string[] | undefined =>
  (selector === undefined ? undefined : agents.templates.get(selector)) ??
  (alias === undefined ? undefined : agents.commands.get(aliasOf(alias))) ??
  agents.fallback;
