import type { ErrorBody } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { replacerOf } from '@holdpoint/contracts/values/pattern';
import { lastOfAgent, signsIn, weightiest } from './signs.ts';
import { linesOf, quoted, withoutColours } from './text.ts';

const raw = String.raw;

/** Patterns of volatile text. No replacement matches a pattern, so that normalizing twice changes nothing. */
const replaceVariableParts = replacerOf([
  [raw`\bhttps?://[^\s'"<>)\]]+`, '<url>'],
  [raw`\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b`, '<id>'],
  [raw`\b\d{4}[-/]\d\d[-/]\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?\b`, '<time>'],
  [raw`\b\d\d?:\d\d:\d\d(?:[.,]\d+)?(?: ?[AP]M)?\b`, '<time>'],
  // Folders are removed, file names stay.
  [raw`(?:file://)?(?:\b[A-Za-z]:)?[\\/]*(?:[\w.@~+=-]+[\\/]+)+`, '<dir>'],
  [raw`\btmp\w{8}\b|\b(?:tmp|temp)[._-]\w{4,}`, '<temporary>'],
  [raw`\b\d+m ?\d+(?:\.\d+)?s\b|\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|secs?|seconds?|minutes?)\b`, '<time>'],
  [raw`[+-]?\b(?:\d\w*|[0-9a-f]{7,64})(?:[.,](?:\d\w*))*`, '<n>'],
  [raw`[ \t]+`, ' '],
]);

/** The text without its volatile parts: numbers, addresses, times, folders, temporary names, colors. */
export const normalized = (text: string): string => replaceVariableParts(withoutColours(text));

/** Lines in a fingerprint. */
const LINES_MAX = 20;

/** Summaries count tests, so they change with every new test. */
const isSummary = (id: string): boolean => id.endsWith('-summary');

const TROUBLE = /error|fail|fatal|exception|panic|denied|cannot|not found/i;

/** The lines that describe the failure: signs, or else lines about errors, or else the last ones. */
const salient = (output: string): readonly string[] => {
  const lines = linesOf(output);
  const signs = weightiest(signsIn(lines));
  const findings = signs.filter(({ rule }) => !isSummary(rule.id));
  if (signs.length > 0) return (findings.length > 0 ? findings : signs).map(({ line }) => line);
  const own = lastOfAgent(lines);
  if (own !== undefined) return [own.line];
  const printed = lines.filter((line) => line.trim() !== '');
  const troubles = printed.filter((line) => TROUBLE.test(line));
  return (troubles.length > 0 ? troubles : printed).slice(-LINES_MAX);
};

/** The line of an output that describes the failure best: the first about an error, or else the last. */
export const errorLine = (output = ''): string | undefined => {
  const lines = salient(output);
  const line = lines.find((each) => TROUBLE.test(each)) ?? lines.at(-1);
  return line === undefined || line.trim() === '' ? undefined : line;
};

/**
 * A fingerprint of 16 hex digits, equal for failures that differ only in volatile text. The order of lines is
 * ignored, because tests may run concurrently.
 */
export const fingerprintOf = ({
  error,
  output,
}: {
  readonly error: ErrorBody;
  readonly output?: string | undefined;
}): string => {
  const lines = salient(output ?? '').map((line) => normalized(quoted(line)));
  const distinct = [...new Set(lines)].sort().slice(0, LINES_MAX);
  return sha256Of([error.code, normalized(error.message), ...distinct].join('\n')).slice(0, 16);
};
