import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { CapabilityDefinition } from '@holdpoint/contracts/approval/capability';
import { CLAIM_LEASE_MS, CLAIM_WAIT_MAX_MS } from '@holdpoint/contracts/effect/remote';
import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { asSent, canonicalJson } from '@holdpoint/contracts/values/json';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import type { WorkerLog } from '../activation/session/port.ts';
import { pause } from './backoff.ts';
import { type RunningClaimant, runClaimant } from './claimant.ts';
import type { RemoteConnection } from './connection.ts';
import type { AnyRemoteEffect } from './define-effect.ts';
import { takeSeat } from './seat.ts';
import { createTrust } from './trust.ts';

export type ClaimantOptions = {
  readonly connection: RemoteConnection;
  readonly effects: readonly AnyRemoteEffect[];
  /** For people; the host name by default. */
  readonly name?: string;
  /** Functions at the same time; 10 by default. */
  readonly concurrency?: number;
  /** Time without a sign of life after which the outcome counts as unknown; 30 s by default. */
  readonly leaseMs?: number;
  /** Folder that this process locks. A later process with it proves that this one is gone: probes need that. */
  readonly seat?: string;
  /** Public keys of approvals in PEM; by default the first answer of the server is trusted. */
  readonly keys?: string;
  /** Time for running functions to finish when the claimant stops; 30 s by default. */
  readonly drainMs?: number;
  /** By default, JSON lines on standard error. */
  readonly log?: WorkerLog;
  /** Whether to stop on SIGTERM and SIGINT; `true` by default. */
  readonly signals?: boolean;
};

export type Claimant = RunningClaimant & {
  /** Resolves once all capabilities are registered and it claims. Rejects when one differs from the registered one. */
  readonly ready: Promise<void>;
};

const CONCURRENCY = 10;
const DRAIN_MS = 30_000;

const logToStandardError: WorkerLog = (line) => {
  process.stderr.write(`${JSON.stringify({ at: new Date().toISOString(), ...line })}\n`);
};

const isAway = (error: unknown): boolean => hasCode(error, 'RUNTIME_UNAVAILABLE');
const MAY_NOT: ReadonlySet<string> = new Set(['APPROVALS_SCOPE', 'ERR_FORBIDDEN', 'IDENTITY_SCOPE']);

/**
 * Registers a definition. A token that may not register needs an equal one that is registered. The NATS user of workers cannot
 * look: then the check of each order against its definition has to do.
 */
const registered = async (connection: RemoteConnection, definition: CapabilityDefinition): Promise<void> => {
  const { name } = definition;
  const same = (one: CapabilityDefinition): boolean =>
    canonicalJson(asSent(CapabilityDefinition.parse(one))) === canonicalJson(asSent(definition));
  try {
    await connection.register(definition);
    return;
  } catch (error) {
    if (!(error instanceof HoldpointError) || !MAY_NOT.has(error.code)) throw error;
  }
  let known: Awaited<ReturnType<typeof connection.capability>>;
  try {
    known = await connection.capability(name);
  } catch (error) {
    if (hasCode(error, 'ERR_FORBIDDEN')) return;
    throw error;
  }
  if (known?.status === 'registered' && same(known)) return;
  throw known === undefined
    ? new HoldpointError('APPROVALS_UNKNOWN_CAPABILITY', `${name} is not registered: register it first`)
    : new HoldpointError(
        'APPROVALS_CAPABILITY_INVALID',
        `${name} is registered with another definition: register this one first`,
      );
};

const untilThere = async (work: () => Promise<void>, isStopped: () => boolean): Promise<void> => {
  for (let failures = 1; !isStopped(); failures += 1) {
    try {
      return await work();
    } catch (error) {
      if (!isAway(error)) throw error;
    }
    await pause(failures);
  }
};

/**
 * Carries out approved effects in this process until it is stopped. It keeps no journal: an effect without a recorded end is in
 * doubt.
 */
export const startClaimant = (options: ClaimantOptions): Claimant => {
  const { connection, effects, name = hostname(), log = logToStandardError, signals = true } = options;
  if (effects.length === 0) throw new TypeError('a claimant needs at least one effect');
  let isStopped = false;
  let running: RunningClaimant | undefined;
  let release = (): void => undefined;

  const start = async (): Promise<void> => {
    for (const { definition } of effects)
      await untilThere(
        () => registered(connection, definition),
        () => isStopped,
      );
    const seat = options.seat === undefined ? undefined : await takeSeat(options.seat);
    release = seat?.release ?? release;
    if (isStopped) return;
    running = runClaimant({
      say: connection,
      clock: systemClock,
      now: Date.now,
      key: generateKeyPairSync('ed25519').privateKey,
      claimName: randomUUID,
      trust: createTrust(connection.keys, options.keys),
      effects,
      name: name.slice(0, 100),
      concurrency: options.concurrency ?? CONCURRENCY,
      waitMs: CLAIM_WAIT_MAX_MS,
      leaseMs: options.leaseMs ?? CLAIM_LEASE_MS,
      seat: seat?.id,
      drainMs: options.drainMs ?? DRAIN_MS,
      log,
    });
  };

  const ready = start();
  let tellStopped = (): void => undefined;
  const stopped = new Promise<void>((resolve) => (tellStopped = resolve));
  const onSignal = (): void => void stop();
  const stopAll = async (): Promise<void> => {
    isStopped = true;
    await ready.catch(() => undefined);
    await running?.stop();
    release();
    process.off('SIGTERM', onSignal);
    process.off('SIGINT', onSignal);
    tellStopped();
  };
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= stopAll());
  if (signals) {
    process.on('SIGTERM', onSignal);
    process.on('SIGINT', onSignal);
  }
  ready.catch((error: unknown) => {
    const code = error instanceof HoldpointError ? error.code : 'RUNTIME_POISON';
    const text = error instanceof Error ? error.message : String(error);
    log({ level: 'error', message: 'the claimant cannot start', fields: { code, text } });
    void stop();
  });
  return { ready, stop, stopped };
};
