import { z } from 'zod';

/** Invisible characters and line breaks: a name with them could be mistaken for another. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Prefixes with a meaning in audiences. */
const OF_AUDIENCES = /^(user|group|role):/i;

export const isPlain = (name: string): boolean => name.trim() === name && !HIDDEN.test(name);

const Plain = (max: number) =>
  z.string().min(1).max(max).refine(isPlain, 'no invisible characters, and no spaces around it');

/** A group or a role. */
export const GroupName = Plain(100).refine(
  (name) => !OF_AUDIENCES.test(name),
  'the prefixes user:, group: and role: are reserved for audiences',
);
