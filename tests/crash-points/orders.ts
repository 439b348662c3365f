import { generateKeyPairSync } from 'node:crypto';
import { type PublishedKeys, signingKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { ResolveEffect, RunEffect } from '@holdpoint/contracts/effect/commands';
import { type AnswerClaims, type InDoubtAnswer, SignedClaims } from '@holdpoint/contracts/effect/grant';
import { ApprovalId, effectIdOf, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { EffectClass } from '@holdpoint/contracts/workflow/workflow';
import { createSigner, createVerifier } from '@holdpoint/runtime/service/jws';
import type { Verify } from '@holdpoint/executor/effect/admission';
import type { Carrier } from './story.ts';

/** The database's clock when a story begins. */
export const BEGINS = Date.UTC(2026, 0, 1);
const HOUR_S = 3_600;

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const sign = createSigner(privateKey);
const forge = createSigner(generateKeyPairSync('ed25519').privateKey);

/** The key of the approvals service. */
export const KEYS = [publicKey] as const;

/** What approvals publishes about its key. */
export const publishedKeys = (nonce: string): PublishedKeys => {
  const keys = [signingKeyOf(publicKey)];
  return { keys, statements: [sign({ use: 'keys', keys, nonce, iat: BEGINS / 1_000 })] };
};

const verified = new Map<string, SignedClaims | undefined>();
const check = createVerifier(KEYS);
/** Verifies each token once, because thousands of stories share it. */
export const verify: Verify = (token) => {
  if (!verified.has(token)) verified.set(token, SignedClaims.safeParse(check(token)).data);
  return verified.get(token);
};

export const usesOf = (carrier: Carrier, effectClass: EffectClass): string =>
  carrier === 'executor' ? `cap.local.${effectClass}` : `cap.remote.${effectClass}`;

const effectOf = (carrier: Carrier, effectClass: EffectClass, cents: number): CanonicalEffect => ({
  task: TaskId.parse('t-1'),
  node: NodeId.parse('effect'),
  uses: usesOf(carrier, effectClass),
  args: { charge: 'ch_1', cents },
  kind: 'write_external',
  effectClass,
  target: `remote:${effectClass}`,
  idempotencyKey: 'refund:ch_1',
});

const orderOf = (effect: CanonicalEffect, by: typeof sign): RunEffect => {
  const id = effectIdOf(effect.task, effect.node, effect.idempotencyKey);
  const approval = ApprovalId.parse('a-1');
  const iat = BEGINS / 1_000;
  const claims = { jti: approval, sub: id, digest: effectDigest(effect), iat, exp: iat + HOUR_S, by: 'ada' };
  return { id, attempt: 1, effect, digest: effectDigest(effect), grant: by(claims), approval };
};

export type Orders = {
  readonly approved: RunEffect;
  /** These have no valid grant and must never run. */
  readonly forged: readonly RunEffect[];
};

const kept = new Map<string, Orders>();
export const ordersFor = (carrier: Carrier, effectClass: EffectClass): Orders => {
  const name = `${carrier} ${effectClass}`;
  const known = kept.get(name);
  if (known !== undefined) return known;
  const approved = orderOf(effectOf(carrier, effectClass, 500), sign);
  const other = orderOf(effectOf(carrier, effectClass, 50_000), forge);
  const { grant: _, ...bare } = other;
  const orders: Orders = {
    approved,
    forged: [other, { ...other, grant: approved.grant }, { ...other, digest: approved.digest }, bare],
  };
  kept.set(name, orders);
  return orders;
};

const statements = new Map<string, string>();
/** The signed answer of a person to the doubt of an epoch. */
export const answerTo = (
  { id, digest, effect }: RunEffect,
  epoch: number,
  answer: InDoubtAnswer,
): ResolveEffect => {
  const iat = BEGINS / 1_000;
  const claims: AnswerClaims = {
    use: 'answer',
    jti: ApprovalId.parse(`a-${String(epoch)}`),
    sub: id,
    digest,
    epoch,
    answer,
    iat,
    exp: iat + 2 * HOUR_S,
    by: 'ada',
  };
  const text = JSON.stringify(claims);
  const statement = statements.get(text) ?? sign(claims);
  statements.set(text, statement);
  return { id, task: effect.task, node: effect.node, attempt: 1, statement };
};
