import { finderOf } from '@holdpoint/contracts/values/pattern';
import { type SectionBorder, KINDS, OPEN_SECTIONS, type Rule } from './rules.ts';
import { AGENT, type AgentRule } from './rules-agent.ts';
import { GO, GO_BORDERS } from './rules-go.ts';
import { JAVASCRIPT, JAVASCRIPT_BORDERS } from './rules-javascript.ts';
import { NATIVE, NATIVE_BORDERS } from './rules-native.ts';
import { MACHINE, NETWORK, NETWORK_WORDS } from './rules-network.ts';
import { PYTHON, PYTHON_BORDERS } from './rules-python.ts';
import { RUST, RUST_BORDERS } from './rules-rust.ts';

/** A matched line and its rule. */
export type Sign<R = Rule> = { readonly rule: R; readonly line: string; readonly at: number };

const BORDERS: readonly SectionBorder[] = [
  ...JAVASCRIPT_BORDERS,
  ...PYTHON_BORDERS,
  ...RUST_BORDERS,
  ...GO_BORDERS,
  ...NATIVE_BORDERS,
];

/**
 * The first rule that matches a line wins, so network rules come before those of the tools that report the
 * errors.
 */
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

/** All matched lines of a check, in the order of the output. */
export const signsIn = (lines: readonly string[]): readonly Sign[] => {
  let section: string | undefined;
  return lines.flatMap((line, at): readonly Sign[] => {
    if (line === '') return [];
    const found = findInCheck(line);
    const border = BORDERS[found.find((index) => index < BORDERS.length) ?? -1];
    const rules = found.flatMap((index) => RULES[index - BORDERS.length] ?? []);
    // The lines that open and close a section belong to it: they are the tool's own.
    if (border?.opens !== undefined && (section === undefined || hidesOutput(border.opens)))
      section = border.opens;
    const rule = rules.find((one) => applies(one, section));
    if (border !== undefined && border.opens === undefined) section = undefined;
    return rule === undefined ? [] : [{ rule, line, at }];
  });
};

/** The strongest signs that no other sign explains. */
export const weightiest = (signs: readonly Sign[]): readonly Sign[] => {
  const overruled = new Set(signs.flatMap(({ rule }) => rule.overrules ?? []));
  // The order of the two output streams may be mixed: after a failed download, missing files are its
  // consequence.
  const hasFailedToCome = signs.some(({ rule }) => rule.kind === 'network');
  const left = signs.filter(
    ({ rule }) => !overruled.has(rule.id) && !(rule.kind === 'missing' && hasFailedToCome),
  );
  const kind = KINDS.find((one) => left.some(({ rule }) => rule.kind === one));
  return left.filter(({ rule }) => rule.kind === kind);
};

/** An agent's own result is at the end of its output; before that it may read and write about anything. */
const TAIL_LINES = 80;
const TAIL_CHARACTERS = 16_000;

/** Index of the first line of the tail. */
export const tailOf = (lines: readonly string[]): number => {
  let characters = 0;
  const before = lines.findLastIndex((line, at) => {
    characters += line.length;
    return at < lines.length - 1 && (at < lines.length - TAIL_LINES || characters > TAIL_CHARACTERS);
  });
  return before + 1;
};

/** The last message about the agent itself, from the agent or its provider. */
export const lastOfAgent = (lines: readonly string[]): Sign<AgentRule> | undefined => {
  for (let at = lines.length - 1, from = tailOf(lines); at >= from; at -= 1) {
    const line = lines[at] ?? '';
    const rule = AGENT[findInAgent(line)[0] ?? -1];
    if (rule !== undefined) return { rule, line, at };
  }
  return undefined;
};
