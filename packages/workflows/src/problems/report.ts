import { nearestName, type Problem } from './problem.ts';

type NewProblem = Omit<Problem, 'severity' | 'file'> & {
  /** Left out where the file is known only later. */
  readonly file?: string | undefined;
  /** The word as written, and the known words for a suggestion. */
  readonly meant?: readonly [word: string, known: Iterable<string>];
};

/** Collects problems, so that all are reported at once. */
export type Report = {
  error(found: NewProblem): void;
  warning(found: NewProblem): void;
  readonly problems: readonly Problem[];
};

/** More problems help no reader, and they have to be sent and shown. */
const PROBLEMS_MAX = 1_000;
/** Each suggestion compares with every known name; there may be thousands. */
const SUGGESTIONS_MAX = 50;

/** The wrong value may be as long as a file. */
const FOUND_MAX = 1_000;

const bounded = (text: string): string =>
  text.length > FOUND_MAX ? `${text.slice(0, FOUND_MAX - 1).toWellFormed()}…` : text;

const LAST: Problem = {
  code: 'WORKFLOW_PROBLEMS_MANY',
  severity: 'error',
  path: '',
  found: `more than ${String(PROBLEMS_MAX)} problems`,
  expected: 'these problems fixed first',
};

export const createReport = (): Report => {
  const problems: Problem[] = [];
  let suggestions = 0;
  const add = (severity: Problem['severity'], { meant, file, ...rest }: NewProblem): void => {
    if (problems.length === PROBLEMS_MAX) problems.push(LAST);
    if (problems.length > PROBLEMS_MAX) return;
    const suggest = meant !== undefined && suggestions < SUGGESTIONS_MAX;
    if (suggest) suggestions += 1;
    const nearest = suggest ? nearestName(...meant) : rest.nearest;
    problems.push({
      ...rest,
      found: bounded(rest.found),
      severity,
      ...(nearest !== undefined && { nearest }),
      ...(file !== undefined && { file }),
    });
  };
  return {
    error: (found) => {
      add('error', found);
    },
    warning: (found) => {
      add('warning', found);
    },
    problems,
  };
};

export const hasErrors = (problems: readonly Problem[]): boolean =>
  problems.some(({ severity }) => severity === 'error');

const SHOWN_MAX = 80;

const cut = (text: string): string => (text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX - 1)}…` : text);

/** A short form of a value for messages. */
export const shown = (value: unknown): string => {
  if (value === undefined) return 'nothing';
  if (typeof value === 'string') return cut(JSON.stringify(value));
  if (value instanceof Date) return 'a date';
  if (Array.isArray(value)) return `a list of ${String(value.length)}`;
  if (typeof value === 'object' && value !== null) return 'a table';
  // JSON has no text for NaN and infinity.
  if (typeof value === 'number') return String(value);
  return JSON.stringify(value) ?? typeof value;
};

/** A list of names for messages, abbreviated when long. */
export const listed = (names: Iterable<string>): string => {
  const all = [...names];
  const some = all.slice(0, 12).join(', ');
  return all.length > 12 ? `${some}, … (${String(all.length)})` : some;
};

/** Converts the error of a file reader into a code and a text. */
export const readFailure = (error: unknown): { readonly code: string; readonly found: string } => {
  const found = error instanceof Error ? error.message : String(error);
  const own = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
  return { code: own.startsWith('WORKFLOW_') ? own : 'WORKFLOW_FILE_MISSING', found };
};
