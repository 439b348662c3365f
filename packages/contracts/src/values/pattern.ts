import { RE2JS, RE2JSException, RE2Set } from 're2js';

/**
 * Maximum instructions of a compiled pattern. Matching time grows with text times instructions: unlimited
 * patterns (`[a-z]{1000}` repeated) could take minutes.
 */
export const PATTERN_PROGRAM_MAX = 5_000;

/** Whether a text is a valid RE2 pattern within the size limit. */
export const isPattern = (source: string): boolean => {
  try {
    return RE2JS.compile(source).programSize() <= PATTERN_PROGRAM_MAX;
  } catch (error) {
    if (error instanceof RE2JSException) return false;
    throw error;
  }
};

/** Returns the indexes of the patterns that match a line, in order. */
export type Finder = (line: string) => readonly number[];

/** Whether every alternative of a pattern is anchored at the line start; false when uncertain. */
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
  // Anchored patterns reject most lines after a few characters.
  const atStart = setOf(patterns, places.filter(isFirst), RE2Set.ANCHOR_START);
  const further = places.filter((place) => !isFirst(place));
  const anywhere = setOf(patterns, further, RE2Set.UNANCHORED);
  return (line) => [...atStart(line), ...anywhere(line)].sort((a, b) => a - b);
};

/**
 * Matches several patterns in one pass, in time linear in the line. Invalid patterns never match.
 * Compilation is lazy: hundreds of patterns take half a second.
 */
export const finderOf = (patterns: readonly string[]): Finder => {
  let find: Finder | undefined;
  return (line) => (find ??= compiled(patterns))(line);
};

export type Replacement = readonly [pattern: string, by: string];

/** Replaces all matches, one pattern after the other. Replacements are literal. Compilation is lazy. */
export const replacerOf = (replacements: readonly Replacement[]): ((text: string) => string) => {
  let steps: readonly (readonly [RE2JS, string])[] | undefined;
  return (text) => {
    steps ??= replacements.map(([pattern, by]) => [RE2JS.compile(pattern), by]);
    return steps.reduce((rest, [pattern, by]) => pattern.matcher(rest).replaceAll(by), text);
  };
};
