import { OUTPUT_MAX } from '@holdpoint/contracts/recovery/commands';
import { replacerOf } from '@holdpoint/contracts/values/pattern';

/** Colours, cursors, titles of windows, and what is left of them where they were cut off. */
const clean = replacerOf([
  [String.raw`\x1b\[[0-?]*[ -/]*[@-~]`, ''],
  [String.raw`\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)?`, ''],
  [String.raw`\x1b[@-Z\\^_()#%*+][0-9A-Za-z]?`, ''],
  [String.raw`\r\n?`, '\n'],
  [String.raw`[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x{fffe}\x{ffff}]`, ''],
]);

export const withoutColours = (text: string): string => clean(text);

/** What runners of many tasks write before each line: the time, or whose line it is. */
const bare = replacerOf([
  [String.raw`(?m)^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?\s`, ''],
  [String.raw`(?m)^#\d+ \d+\.\d+ `, ''],
  [String.raw`(?m)^@?[\w.-]+(?:/[\w.-]+)?:[a-z][\w-]*: `, ''],
  [String.raw`(?m)^(?:packages|services|apps|libs|crates)/\S+ [\w:-]+: `, ''],
]);

/** The lines of an output from its end, as they would be read on a terminal without colours. */
export const linesOf = (output: string): readonly string[] =>
  bare(clean(output.slice(-OUTPUT_MAX))).split('\n');

/** Characters of a line that is quoted. */
export const EVIDENCE_MAX = 500;

/** A line as it is quoted: of a long one the beginning, which says where it comes from. */
export const quoted = (line: string): string => {
  const text = line.trim();
  return text.length <= EVIDENCE_MAX ? text : `${text.slice(0, EVIDENCE_MAX - 1).toWellFormed()}…`;
};
