import { z } from 'zod';
import { AgentName } from '../values/agent.ts';
import { AccessTokenId } from '../values/ids.ts';
import { Scope } from './access-token.ts';

/** The header with the identity assertion of a submission or a command. */
export const IDENTITY_HEADER = 'holdpoint-identity';

/** Lifetime of an assertion, in milliseconds. */
export const IDENTITY_MS = 300_000;

/** Clocks of services may differ by this much, in milliseconds. */
export const IDENTITY_TOLERANCE_MS = 60_000;

/** Characters of an assertion: a person can be in some hundred groups. */
export const IDENTITY_MAX = 65_536;

/** The way by which a request reached approvals. The client does not state it. */
export const RequestSource = z.object({
  via: z.enum(['nats', 'http']),
  /** Address of the client of HTTP, in front of trusted proxies. */
  address: z.string().max(64).optional(),
});
export type RequestSource = z.infer<typeof RequestSource>;

/**
 * Claims of the JWS that says who sends a command. Approvals signs it for the owner of a token. Times are
 * epoch seconds.
 */
export const IdentityClaims = z.object({
  use: z.literal('identity'),
  /** The person, in the normal form of names. */
  sub: z.string().min(1).max(200),
  /** The agent that acts for this person; absent when the person acts. */
  agent: AgentName.optional(),
  groups: z.array(z.string()),
  roles: z.array(z.string()),
  scopes: z.array(Scope),
  /** Names of the remote capabilities whose effects the token may claim; absent: all. */
  claims: z.array(z.string().max(64)).max(50).optional(),
  /** The token that was shown, if approvals stores it. */
  token: AccessTokenId.optional(),
  /** From where the token was shown. */
  from: RequestSource.optional(),
  iat: z.int(),
  exp: z.int(),
});
export type IdentityClaims = z.infer<typeof IdentityClaims>;

/** An assertion for the owner of a token. */
export const IssuedIdentity = z.object({
  /** Compact JWS over {@link IdentityClaims}, for the header `holdpoint-identity`. */
  assertion: z.string().max(IDENTITY_MAX),
  /** Epoch milliseconds. */
  expiresAt: z.int(),
  name: z.string(),
  agent: z.string().optional(),
});
export type IssuedIdentity = z.infer<typeof IssuedIdentity>;

/** The commands of people to the orchestrator, and the scope that each of them needs. */
export const COMMAND_SCOPES = {
  submit: 'tasks:submit',
  cancel: 'tasks:write',
  pause: 'tasks:write',
  resume: 'tasks:write',
  retry: 'tasks:write',
  skip: 'tasks:write',
  done: 'tasks:write',
  checkpoint: 'tasks:write',
  record_review: 'tasks:write',
  fork: 'tasks:write',
} as const satisfies Readonly<Record<string, Scope>>;
export type PeopleCommand = keyof typeof COMMAND_SCOPES;

export const isPeopleCommand = (command: string): command is PeopleCommand =>
  Object.hasOwn(COMMAND_SCOPES, command);

/** Requests that only a verified person may send, beside the commands above. */
const PERSONAL: ReadonlySet<string> = new Set(['recovery.circuit', 'executor.forget', 'executor.claim']);

/** Whether requests to this endpoint carry the assertion. */
export const takesIdentity = (service: string, endpoint: string): boolean =>
  (service === 'orchestrator' && isPeopleCommand(endpoint)) ||
  PERSONAL.has(`${service}.${endpoint}`) ||
  endpoint === 'dead_letter_resolve';

/** An assertion is fetched again this long before its end, in milliseconds. */
const MARGIN_MS = 60_000;

/** Codes of an assertion that a new one replaces. */
const REPLACED: ReadonlySet<unknown> = new Set(['IDENTITY_INVALID', 'IDENTITY_EXPIRED']);

/**
 * Sends requests with the assertion of a token's owner: fetched once and kept until shortly before its end.
 * `now` is monotonic, in milliseconds, because the clocks of a client and of approvals may differ.
 */
export const createIdentitySource = (
  fetch: () => Promise<Pick<IssuedIdentity, 'assertion'>>,
  now: () => number = () => performance.now(),
) => {
  let kept: { readonly issued: ReturnType<typeof fetch>; readonly until: number } | undefined;

  const current = async (): Promise<string> => {
    if (kept === undefined || now() >= kept.until)
      kept = { issued: fetch(), until: now() + IDENTITY_MS - MARGIN_MS };
    const { issued } = kept;
    try {
      return (await issued).assertion;
    } catch (error) {
      if (kept?.issued === issued) kept = undefined;
      throw error;
    }
  };

  return {
    /** Repeats a request once when its assertion has ended early, as after a rotation of keys. */
    withIdentity: async <Answer>(send: (assertion: string) => Promise<Answer>): Promise<Answer> => {
      try {
        return await send(await current());
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && REPLACED.has(error.code))) throw error;
        kept = undefined;
        return send(await current());
      }
    },
  };
};
export type IdentitySource = ReturnType<typeof createIdentitySource>;
