import { createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { GrantClaims } from '@holdpoint/contracts/effect/grant';
import { RunEffect } from '@holdpoint/contracts/effect/commands';
import { approvalIdOf, effectIdOf, type NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { layout } from '@holdpoint/infra/credentials/layout';
import { createSigner } from '@holdpoint/runtime/service/jws';

const APPEND = 'append' as NodeId;
const HOUR_S = 3_600;

let count = 0;

/** An effect of the sample workflow, without a submitted task. */
export const sampleEffect = (changes: Partial<CanonicalEffect> = {}): CanonicalEffect => {
  count += 1;
  return {
    task: TaskId.parse(`t-order-${String(process.pid)}-${String(count)}`),
    node: APPEND,
    uses: 'cap.file.append',
    args: { file: 'orders.txt', line: `line ${String(count)}` },
    kind: 'write_external',
    effectClass: 'keyed',
    target: 'file:orders.txt',
    idempotencyKey: 'append:orders.txt',
    ...changes,
  };
};

const effectIdFor = ({ task, node, idempotencyKey }: CanonicalEffect) =>
  effectIdOf(task, node, idempotencyKey);

/** The signing key of the approvals service. */
export const readGrantKey = async (credentialsDir: string): Promise<KeyObject> =>
  createPrivateKey(await readFile(layout(credentialsDir).grantKey));

/** An unrelated key. */
export const strangersKey = (): KeyObject => generateKeyPairSync('ed25519').privateKey;

/** The grant that the approvals service would sign for this effect. */
export const claimsFor = (effect: CanonicalEffect, changes: Partial<GrantClaims> = {}): GrantClaims => {
  const now = Math.floor(Date.now() / 1_000);
  return {
    jti: approvalIdOf(effect.task, effect.node, 1),
    sub: effectIdFor(effect),
    digest: effectDigest(effect),
    iat: now,
    exp: now + HOUR_S,
    by: 'operator',
    ...changes,
  };
};

export const grantFor = (key: KeyObject, effect: CanonicalEffect, changes?: Partial<GrantClaims>): string =>
  createSigner(key)(claimsFor(effect, changes));

/** An order for an effect, whose grant may be for another one. */
export const orderFor = (
  effect: CanonicalEffect,
  grant: string,
  changes: Partial<RunEffect> = {},
): RunEffect =>
  RunEffect.parse({
    id: effectIdFor(effect),
    attempt: 1,
    effect,
    digest: effectDigest(effect),
    grant,
    ...changes,
  });
