import { sha256Of } from '@holdpoint/contracts/values/json';

const SLUG_CHARACTERS_MAX = 32;
const SLUG_WORDS = 6;

/** The folders for plans. The first is the default; the second is used when only that exists. */
export const PLAN_FOLDERS = ['.holdpoint/plans', '.vizier/implementation-plans'] as const;

export type Plan = {
  readonly planId: string;
  readonly slug: string;
  readonly branch: string;
  readonly spec: string;
  readonly body: string;
};

/** Avoids a dash at the end. */
const cut = (text: string): string => {
  const start = text.slice(0, SLUG_CHARACTERS_MAX);
  return start.endsWith('-') ? start.slice(0, -1) : start;
};

const plain = (text: string): string =>
  text
    .normalize('NFKD')
    .toLowerCase()
    .replace(/\p{M}/gu, '')
    .split(/[^a-z0-9]/)
    .filter(Boolean)
    .join('-');

/** Turns a given name into a slug, or returns why that is not possible. */
export const slugOf = (name: string): { readonly slug: string } | { readonly problem: string } => {
  const trimmed = name.trim();
  const asked = JSON.stringify(trimmed.slice(0, 80));
  if (trimmed.startsWith('.')) return { problem: `invalid plan name ${asked}: it begins with a dot` };
  if (trimmed.includes('/')) return { problem: `invalid plan name ${asked}: it contains a slash` };
  const slug = cut(plain(trimmed));
  return slug === '' ? { problem: `invalid plan name ${asked}: it has no letter or digit` } : { slug };
};

/** A slug of the first words of a specification. */
export const slugOfSpec = (spec: string): { readonly slug: string } | { readonly problem: string } => {
  const words = plain(spec.slice(0, 4_096)).split('-').filter(Boolean).slice(0, SLUG_WORDS);
  const slug = cut(words.join('-'));
  return slug === '' ? { problem: 'the specification has no words for a plan name' } : { slug };
};

/** Stable for a task and slug. */
export const planIdOf = (task: string, slug: string): string =>
  `pln_${sha256Of(`${task}\0${slug}`).slice(0, 32)}`;

const ended = (text: string): string => `${text.trimEnd()}\n`;

export const planDocument = ({ planId, slug, branch, spec, body }: Plan): string =>
  [
    `---\nplan_id: ${planId}\nplan: ${slug}\nbranch: ${branch}\n---\n`,
    `## Operator Spec\n\n${ended(spec)}`,
    `## Implementation Plan\n\n${ended(body)}`,
  ].join('\n');
