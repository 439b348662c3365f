import { z } from 'zod';

/** What nobody sees or what moves the rest of a line: a name with it would pass for another. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** In an audience a group that is called like this would pass for somebody else. */
const OF_AUDIENCES = /^(user|group|role):/i;

export const isPlain = (name: string): boolean => name.trim() === name && !HIDDEN.test(name);

/** What people of the issuer are called beside whom the directory knows. */
export const OIDC_PREFIX = 'oidc:';

const Plain = (max: number) =>
  z.string().min(1).max(max).refine(isPlain, 'no characters that cannot be seen, and no spaces around it');

export const PersonName = Plain(100).refine(
  (name) => !name.toLowerCase().startsWith(OIDC_PREFIX),
  `names that begin with ${OIDC_PREFIX} are those of OIDC tokens`,
);

/** A group or a role. */
export const GroupName = Plain(100).refine(
  (name) => !OF_AUDIENCES.test(name),
  'user:, group: and role: mark what follows them in an audience',
);
