import { generateKeyPairSync } from 'node:crypto';
import {
  type AnswerClaims,
  type InDoubtAnswer,
  type GrantClaims,
  SignedClaims,
} from '@holdpoint/contracts/effect/grant';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { ResolveEffect, RunEffect } from '@holdpoint/contracts/effect/commands';
import { ApprovalId, effectIdOf, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { createSigner, createVerifier } from '@holdpoint/runtime/service/jws';
import { createEffectDecider, type Slot } from '../src/effect/decide.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const sign = createSigner(privateKey);
const forge = createSigner(generateKeyPairSync('ed25519').privateKey);
const verifyToken = createVerifier([publicKey]);

/** As in the executor: signature and claims must be valid. */
export const verify = (token: string): SignedClaims | undefined =>
  SignedClaims.safeParse(verifyToken(token)).data;
export const decider = createEffectDecider({ verify });

export const TASK = TaskId.parse('t-1');
export const NODE = NodeId.parse('append');
export const EFFECT = effectIdOf(TASK, NODE, 'append:sample.txt');
/** The time of the order, and the end of its grant. */
export const NOW = 1_000_000;
export const GRANT_ENDS = NOW + 3_600_000;

export const slot: Slot = { worker: 'worker-1', slot: 7 };
export const about = { id: EFFECT, task: TASK, node: NODE, attempt: 1 } as const;

export const effectOf = (change: Partial<CanonicalEffect> = {}): CanonicalEffect => ({
  task: TASK,
  node: NODE,
  uses: 'cap.file.append',
  args: { file: 'sample.txt', line: 'hello' },
  kind: 'write_external',
  effectClass: 'keyed',
  target: 'file:sample.txt',
  idempotencyKey: 'append:sample.txt',
  ...change,
});

export const claimsFor = (effect: CanonicalEffect, change: Partial<GrantClaims> = {}): GrantClaims => ({
  jti: ApprovalId.parse('a-1'),
  sub: effectIdOf(effect.task, effect.node, effect.idempotencyKey),
  digest: effectDigest(effect),
  iat: NOW / 1_000,
  exp: GRANT_ENDS / 1_000,
  by: 'ada',
  ...change,
});

/** A valid grant, and a forged one. */
export const grantFor = (effect: CanonicalEffect, change?: Partial<GrantClaims>): string =>
  sign(claimsFor(effect, change));
export const forgedGrantFor = (effect: CanonicalEffect): string => forge(claimsFor(effect));

/** Work, which needs no approval. It has the same id as the effect of these tests unless its key differs. */
export const workOf = (change: Partial<CanonicalEffect> = {}): CanonicalEffect =>
  effectOf({
    uses: 'cap.agent.invoke',
    args: { with: {}, context: {} },
    kind: 'work',
    effectClass: 'idempotent',
    target: 'work',
    ...change,
  });

/** An effect whose target can tell afterwards whether it was applied. */
export const probeableOf = (change: Partial<CanonicalEffect> = {}): CanonicalEffect =>
  effectOf({
    uses: 'cap.env.shell.command.run',
    args: { with: { script: 'deploy', probe: 'is-deployed' } },
    kind: 'deploy',
    effectClass: 'probeable',
    target: 'shell',
    ...change,
  });

/** An order that comes without a grant, as only work may. */
export const bareOrderFor = (
  effect: CanonicalEffect = workOf(),
  change: Partial<RunEffect> = {},
): RunEffect => ({
  id: effectIdOf(effect.task, effect.node, effect.idempotencyKey),
  attempt: 1,
  effect,
  digest: effectDigest(effect),
  ...change,
});

/** An order for an effect that was approved just so. */
export const orderFor = (
  effect: CanonicalEffect = effectOf(),
  change: Partial<RunEffect> = {},
): RunEffect => ({
  ...bareOrderFor(effect),
  grant: grantFor(effect),
  ...change,
});

/** An operator's answer to the doubt of this epoch, signed by the approvals service. */
export const resolveFor = (
  answer: InDoubtAnswer,
  epoch: number,
  effect: CanonicalEffect = effectOf(),
  change: Partial<AnswerClaims> = {},
): ResolveEffect => {
  const { jti, sub, digest, iat, exp, by } = claimsFor(effect);
  const claims: AnswerClaims = { use: 'answer', jti, sub, digest, epoch, answer, iat, exp, by, ...change };
  return { id: sub, task: effect.task, node: effect.node, attempt: 1, statement: sign(claims) };
};
