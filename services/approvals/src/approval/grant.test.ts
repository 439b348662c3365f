import { generateKeyPairSync } from 'node:crypto';
import { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import { GrantClaims } from '@holdpoint/contracts/effect/grant';
import { createSigner, createVerifier } from '@holdpoint/runtime/service/jws';
import { eventsOf, runOf } from '@holdpoint/runtime/testing/run';
import { expect, test } from 'vitest';
import {
  ada,
  APPROVAL,
  REQUESTED_AT,
  DEADLINE,
  decider,
  requestFor,
  verify,
} from '../../testing/requests.ts';
import { DEFAULT_FLOOR } from '../policy/default-floor.ts';
import { createApprovalDecider } from './decide.ts';
import type { ApprovalMessage } from './state.ts';

const HOUR_MS = 3_600_000;
const approve: ApprovalMessage = { kind: 'decide', by: ada, payload: { id: APPROVAL, decision: 'approve' } };

const approvedAt = (now: number, by = decider) => {
  const acts = [
    { message: { kind: 'request', payload: requestFor() } as const, now: REQUESTED_AT },
    { message: approve, now },
  ];
  const resolved = eventsOf(runOf(by, acts)).at(-1);
  if (resolved?.type !== 'resolved' || resolved.grant === undefined) throw new Error('nothing was granted');
  return { ...resolved, grant: resolved.grant };
};

test('a grant names the exact effect, the approvers and its expiry', () => {
  const now = DEADLINE - 1;
  const { digest, effectId } = requestFor();
  expect(approvedAt(now)).toMatchObject({
    outcome: 'approved',
    by: 'ada',
    at: now,
    validUntil: now + HOUR_MS,
  });
  expect(GrantClaims.parse(verify(approvedAt(now).grant))).toEqual({
    jti: APPROVAL,
    sub: effectId,
    floor: DEFAULT_FLOOR.digest,
    digest,
    by: 'ada',
    iat: Math.floor(now / 1_000),
    exp: Math.floor((now + HOUR_MS) / 1_000),
  });
});

test('a grant expires no later than the resolution says', () => {
  for (const now of [REQUESTED_AT, REQUESTED_AT + 1, REQUESTED_AT + 999]) {
    const { grant, validUntil = 0 } = approvedAt(now);
    expect(GrantClaims.parse(verify(grant)).exp * 1_000).toBeLessThanOrEqual(validUntil);
  }
});

test('the same decision yields the same grant', () => {
  expect(approvedAt(REQUESTED_AT + 5).grant).toBe(approvedAt(REQUESTED_AT + 5).grant);
});

test('a grant does not verify with another key', () => {
  const other = generateKeyPairSync('ed25519');
  const forged = approvedAt(REQUESTED_AT, createApprovalDecider(createSigner(other.privateKey))).grant;
  expect(verify(forged)).toBeUndefined();
  expect(createVerifier([other.publicKey])(approvedAt(REQUESTED_AT).grant)).toBeUndefined();
});

test('the events satisfy the contract', () => {
  const resolved = approvedAt(REQUESTED_AT);
  expect(ApprovalEvent.parse(JSON.parse(JSON.stringify(resolved)))).toEqual(
    JSON.parse(JSON.stringify(resolved)),
  );
});
