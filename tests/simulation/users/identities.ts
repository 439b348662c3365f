import { Scope } from '@holdpoint/contracts/approval/access-token';
import { IDENTITY_HEADER, IDENTITY_MS } from '@holdpoint/contracts/approval/identity';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { Principal } from '@holdpoint/approvals/approval/state';
import { createSenders } from '@holdpoint/orchestrator/sender';
import type { Sender } from '@holdpoint/orchestrator/task/model/sender';
import { createIdentityVerifier } from '@holdpoint/runtime/service/identity';
import { claimsIn, signGrant } from '../services/grants.ts';

/** The orchestrator's own check of assertions, with the signatures of the simulation. */
export const senderOf = createSenders(
  createIdentityVerifier({ verify: claimsIn, mayLearnKeyOf: () => false }),
);

/** What approvals answers to the token of this person. */
export const assertionOf = (
  { name, groups, roles = [], agent, scopes = Scope.options }: Principal,
  now: number,
): string => {
  const iat = Math.floor(now / 1_000);
  return signGrant({
    use: 'identity',
    sub: name,
    ...(agent !== undefined && { agent }),
    groups: [...groups],
    roles: [...roles],
    scopes: [...scopes],
    iat,
    exp: iat + IDENTITY_MS / 1_000,
  });
};

/** The sender of a command over the API, with the token of this person or without any. */
export const asSender = (by: Principal | undefined, now: number): Sender =>
  by === undefined
    ? { kind: 'unverified' }
    : senderOf('submit', (header) => (header === IDENTITY_HEADER ? assertionOf(by, now) : undefined), now);

/** Who really asked for each task. The services only know the name that a token has proven. */
export type Askers = Map<TaskId, string>;

/** Names under which people asked to get around four eyes. */
export const DISGUISES = ['bob', 'Ada', 'ada ', 'LINUS', 'ada\u200b', '\u0430da', 'user:linus', ''] as const;
