import { OUTPUT_MAX } from '@holdpoint/contracts/recovery/commands';
import { replacerOf } from '@holdpoint/contracts/values/pattern';

/** Colors, cursor movements, window titles, and truncated rests of them. */
const clean = replacerOf([
  [String.raw`\x1b\[[0-?]*[ -/]*[@-~]`, ''],
  [String.raw`\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?`, ''],
  [String.raw`\x1b[@-Z\\^_()#%*+][0-9A-Za-z]?`, ''],
  [String.raw`\r\n?`, '\n'],
  [String.raw`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x{fffe}\x{ffff}]`, ''],
]);

export const withoutColours = (text: string): string => clean(text);

/** Prefixes that task runners add to each line: a time or a package. */
const bare = replacerOf([
  [String.raw`(?m)^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?\s`, ''],
  [String.raw`(?m)^#\d+ \d+\.\d+ `, ''],
  [String.raw`(?m)^@?[\w.-]+(?:/[\w.-]+)?:[a-z][\w-]*: `, ''],
  [String.raw`(?m)^(?:packages|services|apps|libs|crates)/\S+ [\w:-]+: `, ''],
]);

/** The last lines of an output, as a terminal without colors shows them. */
export const linesOf = (output: string): readonly string[] =>
  bare(clean(output.slice(-OUTPUT_MAX))).split('\n');

/** Characters of a quoted line. */
export const EVIDENCE_MAX = 500;

/** A line as evidence: of a long one the beginning, which names its source. */
export const quoted = (line: string): string => {
  const text = line.trim();
  return text.length <= EVIDENCE_MAX ? text : `${text.slice(0, EVIDENCE_MAX - 1).toWellFormed()}…`;
};
