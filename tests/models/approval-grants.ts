import { generateKeyPairSync } from 'node:crypto';
import { SignedClaims } from '@holdpoint/contracts/effect/grant';
import type { SignGrant } from '@holdpoint/approvals/approval/grant';
import type { Verify } from '@holdpoint/executor/effect/admission';
import { createSigner, createVerifier } from '@holdpoint/runtime/service/jws';

const keys = generateKeyPairSync('ed25519');
const signToken = createSigner(keys.privateKey);
const verifyToken = createVerifier([keys.publicKey]);
const signed = new Map<string, string>();
const verified = new Map<string, ReturnType<Verify>>();

/** Signs like approvals, each set of claims once. */
export const sign: SignGrant = (claims) => {
  const text = JSON.stringify(claims);
  const grant = signed.get(text) ?? signToken(claims);
  signed.set(text, grant);
  return grant;
};

/** Verifies like the executor, each token once. */
export const verify: Verify = (token) => {
  if (!verified.has(token)) verified.set(token, SignedClaims.safeParse(verifyToken(token)).data);
  return verified.get(token);
};
