import { type CreateAccessToken, Scope } from '@holdpoint/contracts/approval/access-token';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { accessTokenIdOf } from '@holdpoint/contracts/values/ids';
import { GroupName } from '@holdpoint/contracts/values/person';
import type { Identity } from './adapters/identity/identity.ts';
import type { TokenMessage } from './token/access-token.ts';
import type { Principal } from './approval/state.ts';

/** Scopes of a token when the request names none. A session has those of its creator. */
const DEFAULT_SCOPES: readonly Scope[] = ['approvals:read', 'approvals:decide'];

/** Scopes of a token for a program that claims effects. */
const CLAIM_SCOPES: readonly Scope[] = ['effects:claim'];

const beyond = (wanted: readonly string[], own: readonly string[]): readonly string[] =>
  wanted.filter((each) => !own.includes(each));

const notEntitled = (text: string): HoldpointError => new HoldpointError('APPROVALS_NOT_ENTITLED', text);

type TokenRequester = { readonly by: Principal; readonly administrator: boolean };

/**
 * No person, not even an administrator, can grant a scope that their own token lacks. A leaked token gains
 * nothing.
 */
const scopesFor = (wanted: CreateAccessToken, { by }: TokenRequester): Scope[] => {
  const usual = wanted.claims === undefined ? DEFAULT_SCOPES : CLAIM_SCOPES;
  const { signIn, scopes = signIn ? (by.scopes ?? Scope.options) : usual } = wanted;
  const [missing] = beyond(scopes, by.scopes ?? Scope.options);
  if (missing === undefined) return [...new Set(scopes)];
  throw new HoldpointError('APPROVALS_SCOPE', `you cannot grant scope ${missing}: your own token lacks it`);
};

/** A token whose own claims are limited grants no others. */
const claimsFor = (
  { claims }: CreateAccessToken,
  scopes: readonly Scope[],
  { by }: TokenRequester,
): readonly string[] | undefined => {
  if (!scopes.includes('effects:claim')) {
    if (claims === undefined) return undefined;
    throw new HoldpointError('CONTRACT_INVALID', 'claims: they need the scope effects:claim');
  }
  const [foreign] = by.claims === undefined ? [] : beyond(claims ?? [], by.claims);
  if (foreign === undefined) return claims ?? by.claims;
  throw new HoldpointError(
    'APPROVALS_SCOPE',
    `you cannot grant claims of ${foreign}: your own token lacks them`,
  );
};

const groupsFor = (
  { groups: wanted }: CreateAccessToken,
  principal: string,
  { by, administrator }: TokenRequester,
) => {
  const groups = wanted ?? (principal === by.name ? by.groups : []);
  const [unfit] = groups.filter((group) => !GroupName.safeParse(group).success);
  if (unfit !== undefined) throw new HoldpointError('CONTRACT_INVALID', 'groups: invalid group name');
  const [foreign] = beyond(groups, by.groups);
  if (foreign === undefined || administrator) return groups;
  throw notEntitled(`${by.name} is not in group ${foreign}: ask an administrator to create the token`);
};

/** A mistyped name would get a token that decides nothing: a name outside of the directory comes with groups. */
const checkOwner = (
  { knows, isRemoved }: Pick<Identity, 'knows' | 'isRemoved'>,
  principal: string,
  { groups }: CreateAccessToken,
  { by }: TokenRequester,
): void => {
  if (isRemoved(principal))
    throw new HoldpointError('APPROVALS_UNKNOWN_PERSON', `${principal} was removed: add them again first`);
  if (principal !== by.name && groups === undefined && !knows(principal))
    throw new HoldpointError(
      'APPROVALS_UNKNOWN_PERSON',
      `unknown person: ${principal}; add them with \`people add\`, or name groups`,
    );
};

/** Checks a request for a new token and returns the message for the decider. Throws `HoldpointError`. */
export const tokenMessage = (
  identity: Pick<Identity, 'isAdministrator' | 'knows' | 'isRemoved'>,
  by: Principal,
  wanted: CreateAccessToken,
): TokenMessage => {
  const asking: TokenRequester = { by, administrator: identity.isAdministrator(by) };
  const principal = wanted.principal ?? by.name;
  if (principal !== by.name && !asking.administrator)
    throw notEntitled(`only an administrator may create tokens for people other than ${by.name}`);
  checkOwner(identity, principal, wanted, asking);
  const scopes = scopesFor(wanted, asking);
  const claims = claimsFor(wanted, scopes, asking);
  const groups = groupsFor(wanted, principal, asking);
  const { name, sha256, expiresInMs, agent, signIn } = wanted;
  // An agent could otherwise create a token without an agent, and decide as its owner.
  if (by.agent !== undefined) throw notEntitled(`${by.agent} is an agent: only a person may create tokens`);
  const token = {
    id: accessTokenIdOf(sha256),
    name,
    principal,
    // For people in the directory, groups come from there alone: they lose them when they leave it.
    groups: identity.knows(principal) ? [] : [...groups],
    scopes,
    ...(claims && { claims: [...new Set(claims)] }),
    ...(agent !== undefined && { agent }),
  };
  return { kind: 'create_token', token, sha256, expiresInMs, signIn, by: by.name };
};
