import { z } from 'zod';

/** The prefix of a requester whose name no token has proven. */
const UNVERIFIED = 'unverified:';

/** The one form in which names of people are kept and compared. */
export const normalName = (name: string): string => name.normalize('NFC').trim().toLowerCase();

/**
 * Latin letters with European accents, digits, `. _ - @ ' +` and single spaces. Other scripts have letters
 * that look the same, and invisible characters look like nothing.
 */
const PLAIN =
  /^[a-z0-9\u00df-\u00f6\u00f8-\u00ff\u0101-\u0130\u0132-\u0137\u0139-\u0148\u014a-\u017e._@'+-]+(?: [a-z0-9\u00df-\u00f6\u00f8-\u00ff\u0101-\u0130\u0132-\u0137\u0139-\u0148\u014a-\u017e._@'+-]+)*$/;

/** Whether the normal form of a name consists of plain characters alone. */
export const isPlainName = (name: string): boolean => PLAIN.test(normalName(name));

const NAME_MAX = 100;
export const NAME_RULE = "Latin letters, digits, spaces and . _ - @ ' +";

/** The name of a person, in its normal form. */
export const PersonName = z.string().min(1).max(NAME_MAX).overwrite(normalName).regex(PLAIN, NAME_RULE);

/** Invisible characters and line breaks: a name with them could be mistaken for another. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** Prefixes with a meaning in audiences. */
const OF_AUDIENCES = /^(user|group|role):/i;

export const isPlainText = (text: string): boolean => text.trim() === text && !HIDDEN.test(text);

export const PlainText = (max: number) =>
  z.string().min(1).max(max).refine(isPlainText, 'no invisible characters, and no spaces around it');

/** A group or a role. */
export const GroupName = PlainText(100).refine(
  (name) => !OF_AUDIENCES.test(name),
  'the prefixes user:, group: and role: are reserved for audiences',
);

/** Prefix for people of an OIDC provider who are not in the directory. */
export const OIDC_PREFIX = 'oidc:';

/** Subjects of an OIDC provider may also contain `|`, `/` and `=`. */
const isPlainSubject = (subject: string): boolean => isPlainName(subject.replaceAll(/[|/=]/g, '-'));

/** The owner of a token in normal form: a person of the directory, or `oidc:<subject>`. */
export const PrincipalName = z
  .string()
  .min(1)
  .max(200)
  .overwrite(normalName)
  .refine(
    (name) =>
      name.startsWith(OIDC_PREFIX) ? isPlainSubject(name.slice(OIDC_PREFIX.length)) : isPlainName(name),
    { error: NAME_RULE },
  );

/** The requester of a submission without proof: the given name if it is plain, else `unknown`. */
export const unverifiedName = (given: string | undefined): string => {
  const name = PersonName.safeParse(given);
  return `${UNVERIFIED}${name.success ? name.data : 'unknown'}`;
};

/** No token has proven this name, so it may belong to anybody. */
export const isUnverified = (name: string): boolean => normalName(name).startsWith(UNVERIFIED);

/** Whether two names belong to one person. */
export const isSamePerson = (one: string, other: string): boolean => normalName(one) === normalName(other);
