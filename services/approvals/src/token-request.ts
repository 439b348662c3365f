import { type CreateAccessToken, Scope } from '@holdpoint/contracts/approval/access-token';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { accessTokenIdOf } from '@holdpoint/contracts/values/ids';
import { GroupName } from './adapters/identity/principals/names.ts';
import type { Identity } from './adapters/identity/identity.ts';
import type { TokenMessage } from './token/access-token.ts';
import type { Principal } from './approval/state.ts';

/** Scopes of a token when the request names none. */
const DEFAULT_SCOPES: readonly Scope[] = ['approvals:read', 'approvals:decide'];

const beyond = (wanted: readonly string[], own: readonly string[]): readonly string[] =>
  wanted.filter((each) => !own.includes(each));

const notEntitled = (text: string): HoldpointError => new HoldpointError('APPROVALS_NOT_ENTITLED', text);

type TokenRequester = { readonly by: Principal; readonly administrator: boolean };

/**
 * No person, not even an administrator, can grant a scope that their own token lacks. A leaked token gains
 * nothing.
 */
const scopesFor = ({ scopes = [...DEFAULT_SCOPES] }: CreateAccessToken, { by }: TokenRequester): Scope[] => {
  const [missing] = beyond(scopes, by.scopes ?? Scope.options);
  if (missing === undefined) return [...new Set(scopes)];
  throw new HoldpointError('APPROVALS_SCOPE', `you cannot grant scope ${missing}: your own token lacks it`);
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

/** Checks a request for a new token and returns the message for the decider. Throws `HoldpointError`. */
export const tokenMessage = (
  identity: Pick<Identity, 'isAdministrator' | 'knows'>,
  by: Principal,
  wanted: CreateAccessToken,
): TokenMessage => {
  const asking: TokenRequester = { by, administrator: identity.isAdministrator(by) };
  const principal = wanted.principal ?? by.name;
  if (principal !== by.name && !asking.administrator)
    throw notEntitled(`only an administrator may create tokens for people other than ${by.name}`);
  const scopes = scopesFor(wanted, asking);
  const groups = groupsFor(wanted, principal, asking);
  const { name, sha256, expiresInMs, agent } = wanted;
  // An agent could otherwise create a token without an agent, and decide as its owner.
  if (by.agent !== undefined) throw notEntitled(`${by.agent} is an agent: only a person may create tokens`);
  const token = {
    id: accessTokenIdOf(sha256),
    name,
    principal,
    // For people in the directory, groups come from there alone: they lose them when they leave it.
    groups: identity.knows(principal) ? [] : [...groups],
    scopes,
    ...(agent !== undefined && { agent }),
  };
  return { kind: 'create_token', token, sha256, expiresInMs, by: by.name };
};
