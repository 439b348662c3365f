import { z } from 'zod';

/** Invisible characters and line breaks: a name with them could be mistaken for another. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Prefixes with a meaning in audiences. */
const OF_AUDIENCES = /^(user|group|role):/i;

export const isPlain = (name: string): boolean => name.trim() === name && !HIDDEN.test(name);

/** Prefix for people of the issuer who are not in the directory. */
export const OIDC_PREFIX = 'oidc:';

const Plain = (max: number) =>
  z.string().min(1).max(max).refine(isPlain, 'no invisible characters, and no spaces around it');

export const PersonName = Plain(100).refine(
  (name) => !name.toLowerCase().startsWith(OIDC_PREFIX),
  `names that begin with ${OIDC_PREFIX} are reserved for OIDC tokens`,
);

/** A group or a role. */
export const GroupName = Plain(100).refine(
  (name) => !OF_AUDIENCES.test(name),
  'the prefixes user:, group: and role: are reserved for audiences',
);
