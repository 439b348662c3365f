import { sha256Of } from '@holdpoint/contracts/values/json';

const SLUG_CHARACTERS_MAX = 32;
const SLUG_WORDS = 6;

/** The folders of a repository that plans are kept in; the first is where they are written, unless only the second is in use. */
export const PLAN_FOLDERS = ['.holdpoint/plans', '.vizier/implementation-plans'] as const;

export type Plan = {
  readonly planId: string;
  readonly slug: string;
  readonly branch: string;
  readonly spec: string;
  readonly body: string;
};

/** There is never more than one dash in a row. */
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

/** A name that somebody gave: taken over as far as the rules allow, or the reason why it is none. */
export const slugOf = (name: string): { readonly slug: string } | { readonly problem: string } => {
  const trimmed = name.trim();
  const asked = JSON.stringify(trimmed.slice(0, 80));
  if (trimmed.startsWith('.')) return { problem: `a plan cannot be called ${asked}: it begins with a dot` };
  if (trimmed.includes('/')) return { problem: `a plan cannot be called ${asked}: it contains a slash` };
  const slug = cut(plain(trimmed));
  return slug === '' ? { problem: `a plan cannot be called ${asked}: no letter or digit is left` } : { slug };
};

/** The first words of a specification, as far as they fit. */
export const slugOfSpec = (spec: string): { readonly slug: string } | { readonly problem: string } => {
  const words = plain(spec.slice(0, 4_096)).split('-').filter(Boolean).slice(0, SLUG_WORDS);
  const slug = cut(words.join('-'));
  return slug === '' ? { problem: 'the specification has no words to name the plan by' } : { slug };
};

/** The same for a task and slug, however often the plan is written. */
export const planIdOf = (task: string, slug: string): string =>
  `pln_${sha256Of(`${task}\0${slug}`).slice(0, 32)}`;

const ended = (text: string): string => `${text.trimEnd()}\n`;

export const planDocument = ({ planId, slug, branch, spec, body }: Plan): string =>
  [
    `---\nplan_id: ${planId}\nplan: ${slug}\nbranch: ${branch}\n---\n`,
    `## Operator Spec\n\n${ended(spec)}`,
    `## Implementation Plan\n\n${ended(body)}`,
  ].join('\n');
