import type { Fields } from '../parameters/fields.ts';
import { CICD, COMMAND, INTEGRATE, PERSIST, PREPARE, STAGE } from './labels.ts';
import { firstText, textArg, type Args } from './node-args.ts';
import { listed, shown } from '../../problems/report.ts';

/** Of these arguments a capability needs one at least; the first that is not empty counts. */
export const ANY_OF: Readonly<Record<string, readonly string[]>> = {
  [PREPARE]: ['branch', 'slug', 'plan'],
  [INTEGRATE]: ['branch', 'source_branch', 'plan_branch', 'slug', 'plan'],
  [PERSIST]: ['spec_text', 'spec_file'],
  [COMMAND]: ['command', 'script'],
  [CICD]: ['command', 'script'],
};

/** The arguments of which none was given, though one is needed. */
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
    // No JSON at all is no list of names either, and the caller says what was found.
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
    fields.error('WORKFLOW_ARGS_MISSING', `${field}.spec_file`, 'nothing', 'a file, as spec_source says');
};

/** What the arguments of a capability must be, whether a node or one of its steps uses it. */
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
