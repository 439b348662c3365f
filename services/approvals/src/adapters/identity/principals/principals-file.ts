import { ConfigError, readSecretFile } from '@holdpoint/runtime/service/config';
import { z } from 'zod';
import { GroupName, PersonName } from '@holdpoint/contracts/values/person';

const Principal = z.object({
  name: PersonName,
  groups: z.array(GroupName),
  roles: z.array(GroupName).optional(),
  tokenSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, '64 hex digits')
    .optional(),
  /** The person's ids elsewhere: the Discord user, and the subject of OIDC tokens. */
  discord: z
    .string()
    .regex(/^\d{1,20}$/, 'a Discord user id: up to 20 digits')
    .optional(),
  oidc: z.string().min(1).max(255).optional(),
});
export type KnownPrincipal = z.infer<typeof Principal>;

/** Fields that must be unique. Names are in their normal form. */
const OWN = {
  name: ({ name }) => name,
  tokenSha256: ({ tokenSha256 }) => tokenSha256,
  discord: ({ discord }) => discord,
  oidc: ({ oidc }) => oidc,
} satisfies Record<string, (person: KnownPrincipal) => string | undefined>;

const Principals = z.object({
  principals: z
    .array(Principal)
    .min(1)
    .superRefine((people, context) => {
      for (const [field, valueOf] of Object.entries(OWN)) {
        const seen = new Map<string, number>();
        for (const [i, person] of people.entries()) {
          const value = valueOf(person);
          if (value === undefined) continue;
          const before = seen.get(value);
          if (before === undefined) seen.set(value, i);
          else
            context.addIssue({
              code: 'custom',
              path: [i, field],
              message: `already used by principals[${String(before)}]`,
            });
        }
      }
    }),
});

const PROBLEMS_SHOWN = 20;

const problemsOf = ({ issues }: z.ZodError): string =>
  z.prettifyError({ issues: issues.slice(0, PROBLEMS_SHOWN) }).replaceAll('\n', ' ');

/** Throws `ConfigError` with the position, and without values. */
export const parsePrincipals = (text: string): readonly KnownPrincipal[] => {
  try {
    return Principals.parse(JSON.parse(text)).principals;
  } catch (error) {
    const problem = error instanceof z.ZodError ? problemsOf(error) : 'not JSON';
    throw new ConfigError(`HOLDPOINT_PRINCIPALS_FILE: ${problem}`);
  }
};

/** Throws `ConfigError`. */
export const readPrincipals = (path: string): readonly KnownPrincipal[] =>
  parsePrincipals(readSecretFile('HOLDPOINT_PRINCIPALS_FILE', path));
