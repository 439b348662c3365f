import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { CapabilityDefinition, RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import { remoteTargetOf } from '@holdpoint/contracts/approval/capability';
import { signingKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import {
  HELD_NODE,
  type HeldEffect,
  type HeldState,
  type HoldEffect,
} from '@holdpoint/contracts/effect/hold';
import {
  type Claim,
  type ClaimAnswer,
  type EndAnswer,
  type EndClaim,
  isSignedByClaimant,
} from '@holdpoint/contracts/effect/remote';
import { remoteLabelOf } from '@holdpoint/contracts/effect/remote-name';
import { type ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { approvalIdOf, effectIdOf, heldTaskIdOf, NodeId } from '@holdpoint/contracts/values/ids';
import { canonicalJson } from '@holdpoint/contracts/values/json';
import { createSigner } from '@holdpoint/runtime/service/jws';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import type { RemoteConnection } from '../remote/connection.ts';

export type TestGateOptions = {
  /** Decides each request; by default every one is approved. `wait` leaves it open for `decide`. */
  readonly decide?: (effect: HoldEffect) => 'approve' | 'reject' | 'wait';
  readonly clock?: Clock;
  readonly now?: () => number;
};

/** A gate and a ledger in memory, for tests of one's own effects. */
export type TestGate = {
  /** For `hold` and for `startClaimant`. */
  readonly connection: RemoteConnection;
  readonly decide: (id: string, decision: 'approve' | 'reject', comment?: string) => void;
  /** The answer of a person about an effect in doubt. */
  readonly answer: (id: string, answer: 'applied' | 'not_applied') => void;
  readonly effects: () => readonly HeldEffect[];
};

type Row = {
  readonly wanted: HoldEffect;
  readonly order: RunEffect;
  readonly repeats: boolean;
  held: HeldEffect;
  epoch: number;
  holder?: { x: string; claim: string; leaseMs: number } | undefined;
  stopLease: () => void;
  cancelled: boolean;
  end?: string;
};

const FINAL: ReadonlySet<HeldState> = new Set(['applied', 'failed', 'rejected', 'cancelled']);
const HOUR_S = 3_600;

const refuse = (code: ErrorCode, message: string): never => {
  throw new HoldpointError(code, message);
};

/** Approvals, ledger and claims in memory: real grants, leases and signatures, without a server. */
export const createTestGate = (options: TestGateOptions = {}): TestGate => {
  const { decide = () => 'approve' as const, clock = systemClock, now = Date.now } = options;
  const { privateKey } = generateKeyPairSync('ed25519');
  const sign = createSigner(privateKey);
  const published = { keys: [signingKeyOf(createPublicKey(privateKey))], statements: [] };
  const capabilities = new Map<string, RegisteredCapability>();
  const rows = new Map<string, Row>();
  const changed = new Set<() => void>();
  const waiting = new Map<string, () => void>();

  const set = (row: Row, state: HeldState, more: Partial<HeldEffect> = {}): void => {
    row.held = { ...row.held, ...more, state };
    // A call that wakes takes itself out first.
    for (const wake of Array.from(changed)) wake();
  };

  /** Looks again after every change, up to a time limit. A repeat under a name ends the first call. */
  const waitFor = <Value>(
    look: () => Value | undefined,
    waitMs: number,
    name = '',
  ): Promise<Value | undefined> =>
    new Promise((resolve) => {
      waiting.get(name)?.();
      const found = look();
      if (found !== undefined || waitMs === 0) return resolve(found);
      let stop = (): void => undefined;
      const done = (value?: Value): void => {
        changed.delete(wake);
        if (waiting.get(name) === done) waiting.delete(name);
        stop();
        resolve(value);
      };
      const wake = (): void => {
        changed.delete(wake);
        const value = look();
        if (value === undefined) changed.add(wake);
        else done(value);
      };
      changed.add(wake);
      if (name !== '') waiting.set(name, done);
      stop = clock.after(waitMs, () => done());
    });

  const rowOf = (id: string): Row =>
    rows.get(id) ?? refuse('EXECUTOR_UNKNOWN_EFFECT', `unknown effect ${id}`);
  const rowOfEffect = (id: string): Row =>
    [...rows.values()].find(({ order }) => order.id === id) ??
    refuse('EXECUTOR_UNKNOWN_EFFECT', `unknown effect ${id}`);

  const orderOf = ({ capability, args, key }: HoldEffect, definition: CapabilityDefinition): RunEffect => {
    const task = heldTaskIdOf(capability, key);
    const node = NodeId.parse(HELD_NODE);
    const id = effectIdOf(task, node, key);
    const { kind, effectClass } = definition;
    const target = remoteTargetOf(definition, args);
    const uses = remoteLabelOf(capability);
    const effect = { task, node, uses, args, kind, effectClass, target, idempotencyKey: key };
    const digest = effectDigest(effect);
    const approval = approvalIdOf(task, node, 1);
    const iat = Math.floor(now() / 1_000);
    const claims = { jti: approval, sub: id, digest, iat, exp: iat + HOUR_S, by: 'tester' };
    return { id, attempt: 1, effect, digest, grant: sign(claims), approval };
  };

  const hold = (wanted: HoldEffect): HeldEffect => {
    const { capability, key } = wanted;
    const id = heldTaskIdOf(capability, key);
    const known = rows.get(id);
    if (known !== undefined) {
      if (canonicalJson(known.wanted.args) === canonicalJson(wanted.args)) return known.held;
      return refuse('ORCHESTRATOR_TASK_CONFLICT', 'this key is held with other arguments: use another key');
    }
    const definition =
      capabilities.get(capability) ??
      refuse('APPROVALS_UNKNOWN_CAPABILITY', `${capability} is not registered`);
    const order = orderOf(wanted, definition);
    const repeats = ['keyed', 'fenced', 'idempotent'].includes(definition.effectClass);
    const held: HeldEffect = { id, effect: order.id, capability, key, state: 'waiting' };
    const row = { wanted, order, repeats, held, epoch: 0, stopLease: () => undefined, cancelled: false };
    rows.set(id, row);
    const decision = decide(wanted);
    if (decision !== 'wait') settle(row, decision);
    return row.held;
  };

  const settle = (row: Row, decision: 'approve' | 'reject', comment?: string): void =>
    set(row, decision === 'approve' ? 'approved' : 'rejected', {
      by: 'tester',
      ...(comment !== undefined && { comment }),
    });

  const renew = (row: Row): void => {
    row.stopLease();
    row.stopLease = clock.after(row.holder?.leaseMs ?? 0, () => doubt(row));
  };
  const doubt = (row: Row): void => {
    row.stopLease();
    row.holder = undefined;
    row.epoch += 1;
    set(row, row.repeats && !row.cancelled ? 'approved' : 'in_doubt');
  };

  const give = (claim: Claim): ClaimAnswer['items'] | undefined => {
    const mine = [...rows.values()].filter(
      ({ held, holder }) => held.state === 'running' && holder?.claim === claim.claim,
    );
    const free = [...rows.values()].filter(
      ({ held, order }) => held.state === 'approved' && claim.uses.includes(order.effect.uses),
    );
    const taken = mine.length > 0 ? mine : free.slice(0, claim.max ?? 1);
    for (const row of taken) {
      if (row.held.state === 'approved') row.epoch += 1;
      row.holder = { x: claim.x, claim: claim.claim, leaseMs: claim.leaseMs ?? 30_000 };
      renew(row);
      set(row, 'running');
    }
    const items = taken.map(({ order, epoch, holder }) => ({
      kind: 'run' as const,
      order,
      epoch,
      leaseMs: holder?.leaseMs ?? 0,
    }));
    return items.length === 0 ? undefined : items;
  };

  const holds = (row: Row, x: string, epoch: number): boolean =>
    row.held.state === 'running' && row.holder?.x === x && row.epoch === epoch;

  const end = (ended: EndClaim): EndAnswer => {
    const { id, epoch, x, result } = ended;
    if (!isSignedByClaimant(ended)) refuse('EXECUTOR_CLAIM_SIGNATURE', 'the signature is of another key');
    const row = rowOfEffect(id);
    const text = canonicalJson({ epoch, result });
    if (row.end === text) return { id: row.order.id, epoch, status: 'repeated' };
    if (row.end !== undefined) refuse('EXECUTOR_CLAIM_ENDED', 'another result was recorded before');
    if (!holds(row, x, epoch)) refuse('EXECUTOR_CLAIM_LOST', 'the claim has ended');
    row.stopLease();
    if (result.kind === 'applied') set(row, 'applied', { outputs: result.outputs });
    else if (result.kind === 'failed_clean') set(row, 'failed', { error: result.error });
    else doubt(row);
    if (FINAL.has(row.held.state)) row.end = text;
    return { id: row.order.id, epoch, status: 'recorded' };
  };

  /** Every request answers later, as over a network. */
  const later = async <Value>(answer: () => Value | Promise<Value>): Promise<Value> => {
    await Promise.resolve();
    return answer();
  };

  return {
    connection: {
      hold: (wanted) => later(() => hold(wanted)),
      held: (id, { waitMs = 0, not } = {}) =>
        later(async () => {
          const row = rowOf(id);
          const isNews = ({ state }: HeldEffect): boolean =>
            FINAL.has(state) || (not !== undefined && state !== not);
          await waitFor(() => (isNews(row.held) ? row.held : undefined), waitMs);
          return row.held;
        }),
      cancel: (id) =>
        later(() => {
          const row = rowOf(id);
          row.cancelled = true;
          if (row.held.state === 'waiting' || row.held.state === 'approved') set(row, 'cancelled');
          return row.held;
        }),
      capability: (name) => later(() => capabilities.get(name)),
      register: (definition) =>
        later(() => {
          const made = {
            ...definition,
            status: 'registered' as const,
            registeredBy: 'tester',
            registeredAt: now(),
          };
          capabilities.set(definition.name, made);
          return made;
        }),
      keys: () => later(() => published),
      claim: (claim) =>
        later(async () => ({
          items: (await waitFor(() => give(claim), claim.waitMs ?? 0, claim.claim)) ?? [],
        })),
      beat: (beat) =>
        later(() => {
          if (!isSignedByClaimant(beat))
            refuse('EXECUTOR_CLAIM_SIGNATURE', 'the signature is of another key');
          return {
            items: beat.items.map(({ id, epoch }) => {
              const row = rowOfEffect(id);
              const isHeld = holds(row, beat.x, epoch);
              if (isHeld) renew(row);
              const state = !isHeld ? 'lost' : row.cancelled ? 'cancelled' : 'held';
              return { id, epoch, state, leaseMs: isHeld ? (row.holder?.leaseMs ?? 0) : 0 } as const;
            }),
          };
        }),
      end: (ended) => later(() => end(ended)),
    },
    decide: (id, decision, comment) => settle(rowOf(id), decision, comment),
    answer: (id, answer) => {
      const row = rowOf(id);
      if (row.held.state !== 'in_doubt') refuse('APPROVALS_UNKNOWN', 'the effect is not in doubt');
      if (answer === 'applied') return set(row, 'applied', { outputs: {} });
      const error = { code: 'EXECUTOR_NOT_APPLIED', message: 'a person found that it did not happen' };
      return set(row, 'failed', { error });
    },
    effects: () => [...rows.values()].map(({ held }) => held),
  };
};
