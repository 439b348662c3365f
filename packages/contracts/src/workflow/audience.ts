import { z } from 'zod';
import { normalName } from '../values/person.ts';

const PERSON = 'user:';

const inNormalForm = (member: string): string =>
  member.startsWith(PERSON) ? `${PERSON}${normalName(member.slice(PERSON.length))}` : member;

/** An audience: `user:ada`, `role:release-manager`, `group:operators`, or the plain name of a group. */
export const AudienceMember = z
  .string()
  .min(1)
  .max(200)
  .regex(
    // Plain names have no colon, so that a misspelled prefix is refused instead of becoming an empty
    // group.
    /^(?:(?:user|group|role):[^\s:,][^\n\r,]*|[^\s:,][^\n\r,:]*)$/,
    'a group, or user:<name>, group:<name>, role:<name>',
  )
  // People are compared in the normal form of their names.
  .overwrite((member) => inNormalForm(member));

/** Any of them may decide. */
export const Audience = z.array(AudienceMember).min(1).max(50);
export type Audience = z.infer<typeof Audience>;

/** Identity of a person for audience checks. */
export type Member = {
  readonly name: string;
  readonly groups: readonly string[];
  readonly roles?: readonly string[] | undefined;
};

/** A plain name that does not look like another form. */
const PREFIXED = /^(?:user|group|role):/;

/** Every audience name that matches a person. A group named `user:ada` grants nothing. */
export const namesOf = ({ name, groups, roles = [] }: Member): readonly string[] => [
  `${PERSON}${normalName(name)}`,
  ...groups.flatMap((group) => (PREFIXED.test(group) ? [`group:${group}`] : [group, `group:${group}`])),
  ...roles.map((role) => `role:${role}`),
];

export const isAmong = (audience: readonly string[], person: Member): boolean => {
  const names = new Set(namesOf(person));
  return audience.some((each) => names.has(inNormalForm(each)));
};

/** Who may decide on a request: a member of its audience who is in each list of the policy floor. */
export type Deciders = {
  readonly audience: readonly string[];
  readonly floor?: { readonly within?: readonly (readonly string[])[] | undefined } | undefined;
};

export const mayDecide = ({ audience, floor }: Deciders, person: Member): boolean =>
  isAmong(audience, person) && (floor?.within ?? []).every((names) => isAmong(names, person));
