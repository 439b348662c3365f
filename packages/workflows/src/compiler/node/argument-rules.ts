import type { Fields } from '../parameters/fields.ts';
import { CICD, COMMAND, INTEGRATE, PERSIST, PREPARE, PROMPT, STAGE } from './labels.ts';
import { firstText, textArg, type Args } from './node-args.ts';
import { listed, shown } from '../../problems/report.ts';

/** A capability needs at least one of these arguments; the first non-empty one counts. */
export const ANY_OF: Readonly<Record<string, readonly string[]>> = {
  [PREPARE]: ['branch', 'slug', 'plan'],
  [INTEGRATE]: ['branch', 'source_branch', 'plan_branch', 'slug', 'plan'],
  [PERSIST]: ['spec_text', 'spec_file'],
  [PROMPT]: ['prompt_text', 'prompt_file'],
  [COMMAND]: ['command', 'script'],
  [CICD]: ['command', 'script'],
};

/** The names of which at least one is required, when all of them are empty. */
export const missingArgs = (uses: string, args: Args): readonly string[] | undefined => {
  const names = Object.hasOwn(ANY_OF, uses) ? ANY_OF[uses] : undefined;
  return names !== undefined && firstText(args, names) === '' ? names : undefined;
};

export const reportMissing = (names: readonly string[], args: Args, field: string, fields: Fields): void => {
  const given = Object.keys(args);
  const close = given.filter((name) => !names.includes(name));
  const found = given.length === 0 ? 'no arguments' : `the arguments ${listed(given)}`;
  const meant = close[0] === undefined ? undefined : ([close[0], names] as const);
  fields.error('WORKFLOW_ARGS_MISSING', field, found, `one of ${names.join(', ')} with a value`, meant);
};

const isNames = (text: string): boolean => {
  try {
    const names: unknown = JSON.parse(text);
    return Array.isArray(names) && names.length > 0 && names.every((name) => typeof name === 'string');
  } catch {
    // The caller reports text that is not JSON in the same way as any other wrong value.
    return false;
  }
};

const SOURCES = ['inline', 'stdin', 'file'] as const;

const persistRules = (args: Args, field: string, fields: Fields): void => {
  const source = firstText(args, ['spec_source']) || 'inline';
  if (!SOURCES.some((known) => known === source)) {
    const meant = [source, SOURCES] as const;
    fields.error('WORKFLOW_SPEC_SOURCE', `${field}.spec_source`, shown(source), SOURCES.join(', '), meant);
  }
  const needsFile = source === 'file' && firstText(args, ['spec_file']) === '';
  if (needsFile && firstText(args, ['spec_text']) !== '')
    fields.error(
      'WORKFLOW_ARGS_MISSING',
      `${field}.spec_file`,
      'nothing',
      'a file name: spec_source is file',
    );
};

/** Checks the arguments of a capability, for a node or for one of its steps. */
export const argumentRules = (uses: string, args: Args, field: string, fields: Fields): void => {
  if (uses === PERSIST) persistRules(args, field, fields);
  if (uses !== STAGE || isNames(textArg(args, 'files_json'))) return;
  const found = args['files_json'] === undefined ? 'nothing' : shown(args['files_json']);
  fields.error(
    'WORKFLOW_ARGS_FILES',
    `${field}.files_json`,
    found,
    'a JSON list of file names, such as ["docs"]',
  );
};
