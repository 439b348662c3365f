import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import { type CapabilityDefinition, remoteTargetOf } from '@holdpoint/contracts/approval/capability';
import { type PublishedKeys, signingKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { HELD_NODE, type HeldEffect, type HoldEffect } from '@holdpoint/contracts/effect/hold';
import { remoteLabelOf } from '@holdpoint/contracts/effect/remote-name';
import { approvalIdOf, doubtIdOf, effectIdOf, NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { createSigner } from '@holdpoint/runtime/service/jws';

/** One held effect of the gate in memory. */
export type Row = {
  readonly wanted: HoldEffect;
  readonly definition: CapabilityDefinition;
  /** An undo: the effect that it reverts. */
  readonly undoes?: CanonicalEffect;
  held: HeldEffect;
  preview?: JsonObject;
  isCancelled: boolean;
};

/** An order in the ledger of the gate: a preview, or the effect itself. */
export type Job = {
  readonly row: Row;
  readonly part: 'preview' | 'effect';
  readonly order: RunEffect;
  epoch: number;
  /** What a claimant may claim now. */
  offer?: 'run' | 'probe' | undefined;
  holder?: { x: string; claim: string; leaseMs: number; kind: 'run' | 'probe' } | undefined;
  /** The earlier starts can no longer act: "not applied" of a probe counts. */
  isOver: boolean;
  stopLease: () => void;
  statement?: string;
  /** The recorded end. */
  end?: string;
};

const HOUR_S = 3_600;
const BY = 'tester';

/** The orders of a gate with a key of its own: real digests, grants and answers. */
export const createOrders = (now: () => number) => {
  const { privateKey } = generateKeyPairSync('ed25519');
  const sign = createSigner(privateKey);
  const published: PublishedKeys = {
    keys: [signingKeyOf(createPublicKey(privateKey))],
    statements: [],
  };
  const node = NodeId.parse(HELD_NODE);
  const times = () => {
    const iat = Math.floor(now() / 1_000);
    return { iat, exp: iat + HOUR_S, by: BY };
  };

  const jobFor = (row: Row, part: Job['part'], effect: CanonicalEffect): Job => {
    const id = effectIdOf(effect.task, node, effect.idempotencyKey);
    const digest = effectDigest(effect);
    const approval = approvalIdOf(effect.task, node, 1);
    const grant = part === 'effect' ? sign({ jti: approval, sub: id, digest, ...times() }) : undefined;
    const order: RunEffect = { id, attempt: 1, effect, digest, ...(grant && { grant, approval }) };
    return { row, part, order, epoch: 0, offer: 'run', isOver: true, stopLease: () => undefined };
  };

  return {
    published,
    /** The order of the preview: work, without a grant. */
    previewOf: (row: Row): Job => {
      const { capability, args } = row.wanted;
      return jobFor(row, 'preview', {
        task: row.held.id,
        node,
        uses: `${remoteLabelOf(capability)}.preview`,
        args,
        kind: 'work',
        effectClass: 'idempotent',
        target: `job:${row.held.id}/${node}`,
        idempotencyKey: 'attempt:1:preview',
      });
    },
    /** The approved effect, with the preview that was approved. */
    effectOf: (row: Row): Job => {
      const { wanted, definition, undoes, preview } = row;
      const { capability, args, key } = wanted;
      const label = remoteLabelOf(capability);
      return jobFor(row, 'effect', {
        task: row.held.id,
        node,
        uses: undoes === undefined ? label : `${label}.compensate`,
        args: preview === undefined ? args : { ...args, preview },
        kind: undoes === undefined ? definition.kind : 'destructive_edit',
        effectClass: definition.effectClass,
        target: undoes?.target ?? remoteTargetOf(definition, args),
        idempotencyKey: key,
      });
    },
    /** The signed answer of a person that orders another start. */
    retryOf: ({ order: { id, digest }, epoch }: Job): string =>
      sign({ use: 'answer', jti: doubtIdOf(id, epoch), sub: id, digest, epoch, answer: 'retry', ...times() }),
  };
};
