import { RE2JS, RE2JSException, RE2Set } from 're2js';

/**
 * Instructions of a compiled pattern at the most. Matching takes time in proportion to the text times these: without a bound
 * a thousand characters of pattern (`[a-z]{1000}` again and again) make minutes out of one output.
 */
export const PATTERN_PROGRAM_MAX = 5_000;

/** Whether a text is a pattern in the syntax of RE2, and small enough to be looked for in whatever a program prints. */
export const isPattern = (source: string): boolean => {
  try {
    return RE2JS.compile(source).programSize() <= PATTERN_PROGRAM_MAX;
  } catch (error) {
    if (error instanceof RE2JSException) return false;
    throw error;
  }
};

/** Says which of some patterns are found in a line, by their places in the list, in its order. */
export type Finder = (line: string) => readonly number[];

/** Whether a pattern begins at the beginning of the line in every alternative; if in doubt, no. */
const isAnchored = (pattern: string): boolean => {
  if (!pattern.startsWith('^')) return false;
  let [depth, inClass] = [0, false];
  for (let at = 0; at < pattern.length; at += 1) {
    const character = pattern.charAt(at);
    if (character === '\\') at += 1;
    else if (inClass) inClass = character !== ']';
    else if (character === '[') inClass = true;
    else if (character === '(') depth += 1;
    else if (character === ')') depth -= 1;
    else if (character === '|' && depth === 0) return false;
  }
  return true;
};

const setOf = (patterns: readonly string[], places: readonly number[], anchor: number): Finder => {
  if (places.length === 0) return () => [];
  const set = new RE2Set(anchor);
  for (const place of places) set.add(String(patterns[place]));
  return (line) => set.match(line).map((found) => places[found] ?? -1);
};

const compiled = (patterns: readonly string[]): Finder => {
  const places = patterns.flatMap((pattern, place) => (isPattern(pattern) ? [place] : []));
  const isFirst = (place: number): boolean => isAnchored(String(patterns[place]));
  // Most lines are done with after a few characters where nothing has to be looked for further on.
  const atStart = setOf(patterns, places.filter(isFirst), RE2Set.ANCHOR_START);
  const further = places.filter((place) => !isFirst(place));
  const anywhere = setOf(patterns, further, RE2Set.UNANCHORED);
  return (line) => [...atStart(line), ...anywhere(line)].sort((a, b) => a - b);
};

/**
 * Looks for several patterns at once, in one pass over the line: never longer than in proportion to its length, whoever has
 * written it. What is no pattern is never found. Hundreds of patterns take half a second to compile: whoever only imports a
 * table of them does not wait for it.
 */
export const finderOf = (patterns: readonly string[]): Finder => {
  let find: Finder | undefined;
  return (line) => (find ??= compiled(patterns))(line);
};

export type Replacement = readonly [pattern: string, by: string];

/** Replaces everything that fits, one pattern after the other. What stands in its place is taken as it is. */
export const replacerOf = (replacements: readonly Replacement[]): ((text: string) => string) => {
  const compiled = replacements.map(([pattern, by]) => [RE2JS.compile(pattern), by] as const);
  return (text) => compiled.reduce((rest, [pattern, by]) => pattern.matcher(rest).replaceAll(by), text);
};
