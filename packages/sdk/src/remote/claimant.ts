import { createPublicKey, type KeyObject } from 'node:crypto';
import { rawPublicKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import { type Claim, CLAIMED_MAX, type ClaimedOrder, signed } from '@holdpoint/contracts/effect/remote';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { WorkerLog } from '../activation/session/port.ts';
import { backoffMs } from './backoff.ts';
import {
  type Admitted,
  admit,
  isEndOver,
  labelsOf,
  mayHoldOrders,
  needsBeat,
  partOf,
  refusal,
  type Result,
  resultOf,
  resultOfError,
  startOf,
} from './claimant-rules.ts';
import type { ClaimRequests } from './connection.ts';
import type { AnyRemoteEffect, RemoteContext } from './define-effect.ts';

export type ClaimantPorts = {
  readonly say: ClaimRequests;
  readonly clock: Clock;
  /** The wall clock, in epoch milliseconds, for the expiry of grants. */
  readonly now: () => number;
  /** Private key of this process. */
  readonly key: KeyObject;
  /** A new random name of a claim. */
  readonly claimName: () => string;
  /** Public keys of approvals; `refresh` looks for keys after a rotation. */
  readonly trust: {
    readonly keys: () => Promise<readonly KeyObject[]>;
    readonly refresh: () => Promise<readonly KeyObject[]>;
  };
  readonly effects: readonly AnyRemoteEffect[];
  readonly name: string;
  readonly concurrency: number;
  readonly waitMs: number;
  readonly leaseMs: number;
  readonly seat?: string | undefined;
  readonly drainMs: number;
  readonly log: WorkerLog;
};

export type RunningClaimant = {
  /** Claims no more, lets functions finish within `drainMs`, and sends their ends. */
  readonly stop: () => Promise<void>;
  readonly stopped: Promise<void>;
};

/** An order in the hands of this process. */
type Flight = {
  readonly claimed: ClaimedOrder;
  readonly controller: AbortController;
  /** The lease lasts at least until then, by the clock of this process. */
  until: number;
  state: 'held' | 'cancelled' | 'lost';
};

/** Functions may still answer for this long after `timeoutMs`. */
const GRACE_MS = 5_000;
const FAREWELL_MS = 5_000;
const REMEMBERED = 100_000;

const codeOf = (error: unknown): string => (error instanceof HoldpointError ? error.code : 'RUNTIME_POISON');
const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** Claims orders, carries each start out at most once, and repeats its end until it is recorded. */
export const runClaimant = (ports: ClaimantPorts): RunningClaimant => {
  const { say, clock, key, trust, effects, concurrency, leaseMs, log } = ports;
  const x = rawPublicKeyOf(createPublicKey(key));
  const { uses, probes } = labelsOf(effects);
  const flights = new Map<string, Flight>();
  /** Starts that began in this process. */
  const begun = new Set<string>();
  let isStopping = false;
  let isOver = false;
  let askToStop = (): void => undefined;
  const stopAsked = new Promise<void>((resolve) => (askToStop = resolve));
  let freed = (): void => undefined;

  const sleep = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));
  const within = (ms: number, work: Promise<unknown>): Promise<unknown> => Promise.race([work, sleep(ms)]);
  const about = ({ claimed: { order, epoch } }: Flight) => ({
    effect: order.id,
    uses: order.effect.uses,
    epoch,
  });
  const warn = (message: string, fields: Readonly<Record<string, string | number>>): void =>
    log({ level: 'warn', message, fields });

  const lose = (flight: Flight, code: 'EXECUTOR_CLAIM_LOST' | 'EXECUTOR_CANCELLED', why: string): void =>
    flight.controller.abort(new HoldpointError(code, why));

  const loseIfOver = (flight: Flight): void => {
    if (clock.now() >= flight.until)
      lose(flight, 'EXECUTOR_CLAIM_LOST', 'the lease could not be extended in time');
  };

  const heardOf = (flight: Flight, state: Flight['state'], until: number): void => {
    flight.until = until;
    if (flight.state !== 'lost') flight.state = state;
    if (state === 'cancelled') lose(flight, 'EXECUTOR_CANCELLED', 'the effect was cancelled');
    if (state === 'lost') lose(flight, 'EXECUTOR_CLAIM_LOST', 'another start may have replaced this one');
  };

  const beat = async (beating: readonly Flight[]): Promise<void> => {
    const sentAt = clock.now();
    const items = beating.map(({ claimed: { order, epoch } }) => ({ id: order.id, epoch }));
    const answer = await say.beat(signed({ x, items }, key));
    for (const { id, epoch, state, leaseMs: left } of answer.items)
      for (const flight of beating)
        if (flight.claimed.order.id === id && flight.claimed.epoch === epoch)
          heardOf(flight, state, sentAt + left);
  };

  const beatAll = async (): Promise<void> => {
    const beating = [...flights.values()].filter(({ state }) => state !== 'lost');
    for (let from = 0; from < beating.length; from += CLAIMED_MAX)
      await beat(beating.slice(from, from + CLAIMED_MAX));
  };

  const beatWhileRunning = async (): Promise<void> => {
    let isAway = false;
    while (!isOver) {
      const earliest = Math.min(...[...flights.values()].map(({ until }) => until)) - clock.now();
      await sleep(Math.max(leaseMs / 10, Math.min(leaseMs / 3, earliest / 2)));
      try {
        await beatAll();
        isAway = false;
      } catch (error) {
        // One line for an outage, however long it lasts.
        if (!isAway) warn('leases cannot be extended', { code: codeOf(error), text: textOf(error) });
        isAway = true;
      }
      for (const flight of flights.values()) loseIfOver(flight);
    }
  };

  const contextOf = (flight: Flight, preview: JsonObject | undefined): RemoteContext => {
    const { order, epoch } = flight.claimed;
    return {
      id: order.id,
      key: order.effect.idempotencyKey,
      epoch,
      task: order.effect.task,
      ...(preview !== undefined && { preview }),
      signal: flight.controller.signal,
      assertInForce: async () => {
        await beat([flight]);
        // The process may have been frozen before it heard the answer.
        loseIfOver(flight);
        flight.controller.signal.throwIfAborted();
      },
    };
  };

  const carryOut = async (
    flight: Flight,
    { effect, part, args, preview }: Extract<Admitted, { readonly kind: 'admitted' }>,
  ): Promise<Result> => {
    const { timeoutMs } = effect.definition;
    const run = effect.options[part] as (args: unknown, context: RemoteContext) => unknown;
    const done = Promise.resolve()
      .then(() => run(args, contextOf(flight, preview)))
      .then((returned) => resultOf(part, returned, effect.options.output))
      .catch((error: unknown) => resultOfError(part, error));
    if (timeoutMs === undefined) return done;
    const late = new Error(`it took longer than ${String(timeoutMs)} ms`);
    const stopTimer = clock.after(timeoutMs, () => flight.controller.abort(late));
    let stopGrace = (): void => undefined;
    const overdue = new Promise<Result>((resolve) => {
      stopGrace = clock.after(timeoutMs + GRACE_MS, () => resolve(resultOfError(part, late)));
    });
    try {
      return await Promise.race([done, overdue]);
    } finally {
      stopTimer();
      stopGrace();
    }
  };

  /** Keys that cannot be read may be readable later; without them nothing starts. */
  const keysFor = async (flight: Flight, read: () => Promise<readonly KeyObject[]>) => {
    for (let failures = 1; ; failures += 1) {
      try {
        return await read();
      } catch (error) {
        if (clock.now() >= flight.until || isOver) return error;
        await sleep(backoffMs(failures));
      }
    }
  };

  const judge = async (flight: Flight): Promise<Admitted> => {
    const judged = async (read: () => Promise<readonly KeyObject[]>): Promise<Admitted> => {
      const keys = await keysFor(flight, read);
      if (Array.isArray(keys))
        return admit(flight.claimed, effects, keys as readonly KeyObject[], ports.now());
      const code = 'REMOTE_KEYS_UNAVAILABLE';
      return { kind: 'refused', code, result: refusal(flight.claimed, code, textOf(keys)) };
    };
    const first = await judged(trust.keys);
    const mayBeNewKey = first.kind === 'refused' && first.code === 'EXECUTOR_GRANT_INVALID';
    return mayBeNewKey ? judged(trust.refresh) : first;
  };

  const work = async (flight: Flight, sentAt: number): Promise<Result> => {
    const { claimed } = flight;
    const admitted = await judge(flight);
    if (admitted.kind === 'refused') {
      warn('refused an order', { ...about(flight), code: admitted.code });
      return admitted.result;
    }
    if (needsBeat(sentAt, clock.now(), claimed.leaseMs)) {
      try {
        await beat([flight]);
        loseIfOver(flight);
      } catch (error) {
        return refusal(claimed, 'REMOTE_LEASE_UNKNOWN', `not started: ${textOf(error)}`);
      }
    }
    const { signal } = flight.controller;
    if (signal.aborted) return refusal(claimed, 'REMOTE_NOT_STARTED', textOf(signal.reason));
    return carryOut(flight, admitted);
  };

  const endWith = async (flight: Flight, result: Result): Promise<void> => {
    const { order, epoch } = flight.claimed;
    let sent = result;
    for (let failures = 1; !isOver; failures += 1) {
      try {
        await say.end(signed({ x, id: order.id, epoch, result: sent }, key));
        return;
      } catch (error) {
        if (isEndOver(error)) {
          warn(`the end was not recorded: ${result.kind}`, { ...about(flight), code: codeOf(error) });
          return;
        }
        if (codeOf(error) === 'EXECUTOR_OUTPUTS_TOO_LARGE' && sent.kind === 'applied')
          sent = { kind: 'applied', outputs: { outputsTooLarge: true } };
        else if (failures === 1)
          warn('the end is repeated until it is recorded', { ...about(flight), code: codeOf(error) });
      }
      await sleep(backoffMs(failures));
    }
  };

  const take = (claimed: ClaimedOrder, sentAt: number): void => {
    const name = startOf(claimed);
    const until = sentAt + claimed.leaseMs;
    const known = flights.get(name);
    if (known !== undefined) {
      known.until = Math.max(known.until, until);
      return;
    }
    if (begun.has(name) && partOf(claimed) !== 'probe') return;
    begun.add(name);
    const [oldest] = begun;
    if (begun.size > REMEMBERED && oldest !== undefined) begun.delete(oldest);
    const flight: Flight = { claimed, controller: new AbortController(), until, state: 'held' };
    flights.set(name, flight);
    void work(flight, sentAt)
      .then((result) => endWith(flight, result))
      .finally(() => {
        flights.delete(name);
        freed();
      });
  };

  const ask = async (claim: Claim): Promise<void> => {
    const sentAt = clock.now();
    const { items } = await say.claim(claim);
    for (const item of items) take(item, sentAt);
  };

  /** Asks under one name until an answer arrives: a lost answer may hold orders. A stop asks for them without waiting. */
  const claimOnce = async (claim: Claim): Promise<void> => {
    for (let failures = 1; ; failures += 1) {
      const asked = ask(isStopping ? { ...claim, waitMs: 0 } : claim);
      try {
        if (isStopping) return await asked;
        const ended = await Promise.race([asked.then(() => true), stopAsked.then(() => false)]);
        if (ended) return;
        // The repeat ends the first poll, which may hold orders already.
        await Promise.all([asked, ask({ ...claim, waitMs: 0 })]);
        return;
      } catch (error) {
        asked.catch(() => undefined);
        if (!mayHoldOrders(error)) throw error;
        if (failures === 1) warn('no answer to a claim', { code: codeOf(error), text: textOf(error) });
        if (isOver) return;
      }
      await sleep(backoffMs(failures));
    }
  };

  const claimWhileRunning = async (): Promise<void> => {
    let refused = 0;
    while (!isStopping) {
      const free = concurrency - flights.size;
      if (free <= 0) {
        await new Promise<void>((resolve) => {
          freed = resolve;
          void stopAsked.then(resolve);
        });
        continue;
      }
      try {
        await claimOnce({
          claim: ports.claimName(),
          claimant: ports.name,
          x,
          uses: [...uses],
          ...(probes.length > 0 && { probes: [...probes] }),
          max: Math.min(free, CLAIMED_MAX),
          waitMs: ports.waitMs,
          leaseMs,
          ...(ports.seat !== undefined && { seat: ports.seat }),
        });
        refused = 0;
      } catch (error) {
        refused += 1;
        const fields = { code: codeOf(error), text: textOf(error) };
        if (refused === 1) log({ level: 'error', message: 'Holdpoint refuses the claim', fields });
        await Promise.race([sleep(backoffMs(refused)), stopAsked]);
      }
    }
  };

  const landed = async (): Promise<void> => {
    while (flights.size > 0) await new Promise<void>((resolve) => (freed = resolve));
  };

  const claiming = claimWhileRunning();
  void beatWhileRunning();
  let tellStopped = (): void => undefined;
  const stopped = new Promise<void>((resolve) => (tellStopped = resolve));
  let stopping: Promise<void> | undefined;
  const stopAll = async (): Promise<void> => {
    isStopping = true;
    askToStop();
    await within(ports.drainMs, claiming.then(landed));
    for (const flight of flights.values()) flight.controller.abort(new Error('the claimant stops'));
    if (flights.size > 0) await within(FAREWELL_MS, landed());
    for (const flight of flights.values()) warn('stopped before the end was recorded', about(flight));
    isOver = true;
    tellStopped();
  };
  return { stop: () => (stopping ??= stopAll()), stopped };
};
