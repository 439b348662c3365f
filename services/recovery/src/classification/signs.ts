import { finderOf } from '@holdpoint/contracts/values/pattern';
import { type SectionBorder, KINDS, OPEN_SECTIONS, type Rule } from './rules.ts';
import { AGENT, type AgentRule } from './rules-agent.ts';
import { GO, GO_BORDERS } from './rules-go.ts';
import { JAVASCRIPT, JAVASCRIPT_BORDERS } from './rules-javascript.ts';
import { NATIVE, NATIVE_BORDERS } from './rules-native.ts';
import { MACHINE, NETWORK, NETWORK_WORDS } from './rules-network.ts';
import { PYTHON, PYTHON_BORDERS } from './rules-python.ts';
import { RUST, RUST_BORDERS } from './rules-rust.ts';

/** A line that means something, and the rule that says so. */
export type Sign<R = Rule> = { readonly rule: R; readonly line: string; readonly at: number };

const BORDERS: readonly SectionBorder[] = [
  ...JAVASCRIPT_BORDERS,
  ...PYTHON_BORDERS,
  ...RUST_BORDERS,
  ...GO_BORDERS,
  ...NATIVE_BORDERS,
];

/** The first that fits a line wins: what the network has done to a tool stands before what the tool makes of it. */
export const RULES: readonly Rule[] = [
  ...MACHINE,
  ...NETWORK,
  ...JAVASCRIPT,
  ...PYTHON,
  ...RUST,
  ...GO,
  ...NATIVE,
  ...NETWORK_WORDS,
];

const findInCheck = finderOf([...BORDERS, ...RULES].map(({ pattern }) => pattern));
const findInAgent = finderOf(AGENT.map(({ pattern }) => pattern));

/** Whether only the tool's own lines count in a section. */
const hidesOutput = (section: string): boolean => !OPEN_SECTIONS.includes(section);

const applies = ({ within = [], only }: Rule, section: string | undefined): boolean => {
  if (only !== undefined) return only === section;
  return section === undefined || !hidesOutput(section) || within.includes(section);
};

/** Every line of a check that means something, in the order of the output. */
export const signsIn = (lines: readonly string[]): readonly Sign[] => {
  let section: string | undefined;
  return lines.flatMap((line, at): readonly Sign[] => {
    if (line === '') return [];
    const found = findInCheck(line);
    const border = BORDERS[found.find((place) => place < BORDERS.length) ?? -1];
    const rules = found.flatMap((place) => RULES[place - BORDERS.length] ?? []);
    // What opens a section stands in it, and what closes one still does: both are the tool's own words.
    if (border?.opens !== undefined && (section === undefined || hidesOutput(border.opens)))
      section = border.opens;
    const rule = rules.find((one) => applies(one, section));
    if (border !== undefined && border.opens === undefined) section = undefined;
    return rule === undefined ? [] : [{ rule, line, at }];
  });
};

/** Those that say what the output comes to: the weightiest that nothing else explains. */
export const weightiest = (signs: readonly Sign[]): readonly Sign[] => {
  const overruled = new Set(signs.flatMap(({ rule }) => rule.overrules ?? []));
  // The two streams of a program may be mixed up: what failed to come is what is missing, whichever is said first.
  const hasFailedToCome = signs.some(({ rule }) => rule.kind === 'network');
  const left = signs.filter(
    ({ rule }) => !overruled.has(rule.id) && !(rule.kind === 'missing' && hasFailedToCome),
  );
  const kind = KINDS.find((one) => left.some(({ rule }) => rule.kind === one));
  return left.filter(({ rule }) => rule.kind === kind);
};

/** An agent's own end is at the end of what it printed; before that it may have read and written about anything. */
const TAIL_LINES = 80;
const TAIL_CHARACTERS = 16_000;

/** Where the end of an output begins. */
export const tailOf = (lines: readonly string[]): number => {
  let characters = 0;
  const before = lines.findLastIndex((line, at) => {
    characters += line.length;
    return at < lines.length - 1 && (at < lines.length - TAIL_LINES || characters > TAIL_CHARACTERS);
  });
  return before + 1;
};

/** What an agent's provider, or the agent of itself, has said last. */
export const lastOfAgent = (lines: readonly string[]): Sign<AgentRule> | undefined => {
  for (let at = lines.length - 1, from = tailOf(lines); at >= from; at -= 1) {
    const line = lines[at] ?? '';
    const rule = AGENT[findInAgent(line)[0] ?? -1];
    if (rule !== undefined) return { rule, line, at };
  }
  return undefined;
};
