import { lstatSync } from 'node:fs';
import { resolve } from 'node:path';
import type { WorkflowConfig } from '../config/config.ts';
import { nearestName, type Problem } from '../problems/problem.ts';
import {
  aliasOf,
  WORKFLOW_FORMS,
  type Identity,
  parseSelector,
  pathOf,
  undotted,
} from '../config/selector.ts';
import { listed } from '../problems/report.ts';
import { type ConfinedPath, confine } from './confine.ts';
import { fileProblem, systemCode, WorkflowFileError } from './file-error.ts';
import { type FoundTemplate, scanTemplates, type UnreadableFile } from './template-scan.ts';

/** The template file of a workflow. */
export type FoundWorkflow = {
  /** The folder that the template and its imports stay inside: the repository or the global folder. */
  readonly root: string;
  /** Relative to `root`, with forward slashes. */
  readonly file: string;
  readonly alias?: string;
  /** `<id>@<version>` or `file:<path>`. */
  readonly selector: string;
};

export type FindResult = { readonly workflow?: FoundWorkflow; readonly problems: readonly Problem[] };

export type FindOptions = {
  /** The base of relative paths; by default the root of the repository. */
  readonly from?: string;
  /** Folders outside of the repository that may hold templates; see `globalFolders`. */
  readonly alsoUnder?: readonly string[];
};

type Search = {
  readonly root: string;
  readonly config: WorkflowConfig;
  readonly from: string;
  readonly alsoUnder: readonly string[];
};

type Match = Omit<FoundWorkflow, 'alias'>;
type Result = { readonly workflow?: Match; readonly problems: readonly Problem[] };

const refuse = (code: string, found: string, expected: string, more: Partial<Problem> = {}): Result => ({
  problems: [{ code, severity: 'error', path: '', found, expected, ...more }],
});

const withNearest = (word: string, known: Iterable<string>): Partial<Problem> => {
  const nearest = nearestName(word, known);
  return nearest === undefined ? {} : { nearest };
};

const EXTENSION = /\.(toml|json)$/;

/** Tries the repository first, then the other folders. If all refuse, the repository's error counts. */
const resolveAmong = (
  { root, alsoUnder }: Search,
  path: string,
): { readonly root: string; readonly target: ConfinedPath | undefined } => {
  try {
    return { root, target: confine(root, path) };
  } catch (error) {
    for (const folder of alsoUnder) {
      const target = resolveIfInside(folder, path);
      if (target !== undefined) return { root: folder, target };
    }
    throw error;
  }
};

const resolveIfInside = (folder: string, path: string): ConfinedPath | undefined => {
  try {
    return confine(folder, path);
  } catch (error) {
    // The next folder may contain it.
    if (error instanceof WorkflowFileError || systemCode(error) === 'ENOENT') return undefined;
    throw error;
  }
};

const findFile = (search: Search, path: string, asked: string): Result => {
  const { root, target } = resolveAmong(search, path);
  if (target === undefined)
    return refuse('WORKFLOW_FLOW_NOT_FOUND', `${asked}: no such file`, 'an existing file');
  if (!lstatSync(target.real).isFile())
    return refuse('WORKFLOW_NOT_A_FILE', `${asked}: a folder or a device`, 'a regular file');
  if (!EXTENSION.test(target.real)) return refuse('WORKFLOW_FILE_FORMAT', asked, 'a .toml or a .json file');
  const { file, real } = target;
  return { workflow: { root, file, selector: `file:${root === search.root ? file : real}` }, problems: [] };
};

const identityText = ({ id, version }: Identity): string => `${id}@${version}`;

/** The missing template may be in one of these unreadable files. */
const warningOf = ({ file, why }: UnreadableFile): Problem => ({
  code: 'WORKFLOW_FILE_SKIPPED',
  severity: 'warning',
  path: '',
  found: why,
  expected: 'a readable template',
  file,
});

const unknownSelector = (
  selector: string,
  templates: readonly FoundTemplate[],
  unreadable: readonly UnreadableFile[],
): Result => {
  const known = templates.map(identityText);
  const expected = known.length === 0 ? 'a template in .holdpoint/workflows' : `one of ${listed(known)}`;
  const { problems } = refuse('WORKFLOW_FLOW_NOT_FOUND', selector, expected, withNearest(selector, known));
  return { problems: [...problems, ...unreadable.map(warningOf)] };
};

/** Other names of the shipped stages. A template of the repository with exactly that identity comes first. */
const STAGE_NAMES: ReadonlyMap<string, string> = new Map(
  ['draft', 'approve', 'merge'].map((stage) => [`template.stage.${stage}@v2`, `template.stage.${stage}@v1`]),
);

const findIdentity = (root: string, asked: string): Result => {
  const { templates, unreadable } = scanTemplates(root);
  const having = (identity: string | undefined): readonly FoundTemplate[] =>
    templates.filter((template) => identityText(template) === identity);
  const exact = having(asked);
  const matching = exact.length > 0 ? exact : having(STAGE_NAMES.get(asked));
  const [only, another] = matching;
  if (only === undefined) return unknownSelector(asked, templates, unreadable);
  const selector = identityText(only);
  if (another === undefined) return { workflow: { root, file: only.file, selector }, problems: [] };
  const files = listed(matching.map(({ file }) => file));
  return refuse(
    'WORKFLOW_SELECTOR_AMBIGUOUS',
    `${selector} in ${files}`,
    'one template with this identity, or file:<path>',
  );
};

const findUnaliased = (search: Search, name: string): Result => {
  const path = pathOf(name);
  if (path !== undefined) return findFile(search, resolve(search.from, path), name);
  if (parseSelector(name) !== undefined) return findIdentity(search.root, name);
  const meant = undotted(name);
  if (meant !== undefined) return refuse('WORKFLOW_SELECTOR_DOTTED', name, meant, { nearest: meant });
  const aliases = search.config.commands.keys();
  return refuse('WORKFLOW_FLOW_UNKNOWN', name, WORKFLOW_FORMS, withNearest(aliasOf(name), aliases));
};

const tryUnaliased = (search: Search, name: string): Result => {
  try {
    return findUnaliased(search, name);
  } catch (error) {
    if (!(error instanceof WorkflowFileError)) throw error;
    return { problems: [fileProblem(error)] };
  }
};

/** A broken alias is a configuration error: no other meaning of the name is tried. */
const findAliased = (search: Search, alias: string, target: string): FindResult => {
  const { workflow: flow, problems } = tryUnaliased({ ...search, from: search.root }, target);
  return {
    ...(flow === undefined ? {} : { workflow: { ...flow, alias } }),
    problems: problems.map((problem) => ({ ...problem, path: `commands.${alias}` })),
  };
};

/** Resolves a workflow name: a file, an alias from the configuration, or a template's identity. */
export const findWorkflow = (
  root: string,
  flow: string,
  config: WorkflowConfig,
  { from = root, alsoUnder = [] }: FindOptions = {},
): FindResult => {
  const name = flow.trim();
  if (name === '') return refuse('WORKFLOW_FLOW_EMPTY', 'nothing', WORKFLOW_FORMS);
  const search: Search = { root, config, from, alsoUnder };
  const alias = aliasOf(name);
  const target = pathOf(name) === undefined ? config.commands.get(alias) : undefined;
  return target === undefined ? tryUnaliased(search, name) : findAliased(search, alias, target);
};
