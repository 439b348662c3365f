import { IDENTITY_HEADER } from '@holdpoint/contracts/approval/identity';
import { ENDPOINT_SCOPES } from '@holdpoint/contracts/catalog/scopes';
import { remoteNameIn } from '@holdpoint/contracts/effect/remote-name';
import type { Claim } from '@holdpoint/contracts/effect/remote';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { OwnEndpoints } from '@holdpoint/runtime/bus/api';
import type { VerifyIdentity } from '@holdpoint/runtime/service/identity';
import type { Claimants } from '../adapters/claimants/claimants.ts';
import type { Claiming } from '../adapters/claimants/desk.ts';
import type { ToEffect } from '../adapters/runner/runner.ts';

/** The owner of the token, who may claim all that is named. */
export const claimingOf = (
  verify: VerifyIdentity,
  assertion: string | undefined,
  { uses, probes = [] }: Pick<Claim, 'uses' | 'probes'>,
  at: number,
): Claiming => {
  const scope = ENDPOINT_SCOPES.executor.claim;
  if (assertion === undefined)
    throw new HoldpointError('IDENTITY_REQUIRED', `The sender is unverified: use a token of scope ${scope}`);
  const { sub, token, claims, from } = verify(assertion, scope, at);
  const refused = [...uses, ...probes].find((label) => claims?.includes(remoteNameIn(label) ?? '') === false);
  if (refused !== undefined)
    throw new HoldpointError(
      'EXECUTOR_CLAIM_REFUSED',
      `The token may not claim ${refused}: name it in a new token`,
    );
  return { principal: sub, ...(token !== undefined && { token }), ...(from && { from }) };
};

/** The endpoints of claimants. Beats and ends prove themselves by the key of the claim. */
export const claimEndpoints = (
  claimants: Pick<Claimants, 'claim' | 'beat' | 'end' | 'list'>,
  verify: VerifyIdentity,
): Pick<OwnEndpoints<'executor', ToEffect>, 'claim' | 'beat' | 'end' | 'claimants'> => ({
  claim: {
    query: (request, { header }) =>
      claimants.claim(request, claimingOf(verify, header(IDENTITY_HEADER), request, Date.now())),
  },
  beat: { query: (request) => claimants.beat(request) },
  end: { query: (request) => claimants.end(request) },
  claimants: { query: (page) => claimants.list(page) },
});
