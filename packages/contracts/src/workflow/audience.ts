import { z } from 'zod';

/** Whom an approval is put to: `user:ada`, `role:release-manager`, `group:operators`, or the bare name of a group. */
export const AudienceMember = z
  .string()
  .min(1)
  .max(200)
  .regex(
    // A bare name has no colon: what is meant as a person or a role, and misspelt, is no group that nobody is in.
    /^(?:(?:user|group|role):[^\s:,][^\n\r,]*|[^\s:,][^\n\r,:]*)$/,
    'a group, or user:<name>, group:<name>, role:<name>',
  );

/** Any of them may decide. */
export const Audience = z.array(AudienceMember).min(1).max(50);
export type Audience = z.infer<typeof Audience>;

/** What is known of a person when it is asked whether he may decide. */
export type Member = {
  readonly name: string;
  readonly groups: readonly string[];
  readonly roles?: readonly string[] | undefined;
};

/** A bare name that would read as something else than a group. */
const PREFIXED = /^(?:user|group|role):/;

/** Every way in which a person can be named in an audience. A group that is called `user:ada` makes nobody ada. */
export const namesOf = ({ name, groups, roles = [] }: Member): readonly string[] => [
  `user:${name}`,
  ...groups.flatMap((group) => (PREFIXED.test(group) ? [`group:${group}`] : [group, `group:${group}`])),
  ...roles.map((role) => `role:${role}`),
];

export const isAmong = (audience: readonly string[], person: Member): boolean => {
  const names = new Set(namesOf(person));
  return audience.some((each) => names.has(each));
};
