import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { isDiff } from '@holdpoint/contracts/effect/patch';
import type { Json } from '@holdpoint/contracts/values/json';

/** A part of an effect that is more readable than JSON. */
export type EffectPart =
  | { readonly kind: 'diff' | 'text' | 'command'; readonly name: string; readonly text: string }
  | {
      readonly kind: 'commits';
      readonly name: string;
      readonly commits: readonly { sha: string; subject: string }[];
    };

type Bag = { readonly [key: string]: Json };
const isBag = (value: Json | undefined): value is Bag =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const WORDS: Readonly<Record<string, string>> = {
  diffstat: 'Changed files',
  content: 'New content',
  line: 'Added line',
  body: 'Sent content',
  text: 'Text',
  prompt: 'Prompt of the agent',
  hint: 'Context from earlier attempts',
  script: 'Command',
  command: 'Command',
  agent: 'Agent command',
};
const COMMANDS = new Set(['script', 'command', 'cmd', 'argv', 'agent', 'fixScript']);
const DEPTH_MAX = 6;

const commitsIn = (value: Json): readonly { sha: string; subject: string }[] | undefined => {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const commits = (value as readonly Json[]).flatMap((each) =>
    isBag(each) && typeof each['sha'] === 'string' && typeof each['subject'] === 'string'
      ? [{ sha: each['sha'], subject: each['subject'] }]
      : [],
  );
  return commits.length === value.length ? commits : undefined;
};

const isWords = (value: Json): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string');

/** The command as typed in a shell, with quotes where needed. */
const commandOf = (words: readonly string[]): string =>
  words.map((word) => (/^[\w./:=@%+,-]+$/.test(word) ? word : JSON.stringify(word))).join(' ');

const partOf = (key: string, value: Json): EffectPart | undefined => {
  const name = WORDS[key] ?? key.replaceAll('_', ' ');
  const commits = commitsIn(value);
  if (commits) return { kind: 'commits', name: 'Commits', commits };
  if (COMMANDS.has(key) && isWords(value)) return { kind: 'command', name, text: commandOf(value) };
  if (typeof value !== 'string' || value === '') return undefined;
  if (COMMANDS.has(key)) return { kind: 'command', name, text: value };
  if (isDiff(value)) return { kind: 'diff', name: 'Changes', text: value };
  return Object.hasOwn(WORDS, key) || value.includes('\n') ? { kind: 'text', name, text: value } : undefined;
};

const partsIn = (value: Bag, depth: number): readonly EffectPart[] =>
  Object.entries(value).flatMap(([key, inner]) => {
    const part = partOf(key, inner);
    if (part) return [part];
    return isBag(inner) && depth < DEPTH_MAX ? partsIn(inner, depth + 1) : [];
  });

/** The most important parts of an effect: commands, changes and texts. The arguments contain them too. */
export const partsOf = ({ args }: Pick<CanonicalEffect, 'args'>): readonly EffectPart[] => partsIn(args, 0);
