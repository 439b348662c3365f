import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { StoredArtifact } from '@holdpoint/contracts/effect/stored-artifact';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Routed } from '@holdpoint/runtime/engine/inbound';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { EffectContext } from '../../ports/capability.ts';
import type { HandlerRegistry } from '../../ports/handler-registry.ts';
import { isWork } from '../../effect/admission.ts';
import {
  type EffectMessage,
  type EffectWork,
  LEASE_MS,
  type Outcome,
  type Place,
} from '../../effect/decide.ts';
import type { Deferral, Unended } from '../../effect/state.ts';
import { execute, probe, type JournalStart } from './execute.ts';
import type { CircuitGuard } from '../circuits/circuits.ts';
import { LeaseOver } from '../circuits/breaker.ts';
import { hiddenFinding, hiddenOutcome } from '../secrets/hidden-outcome.ts';
import type { StepOutput } from './log-lines.ts';
import type { Slots } from '../slots/slots.ts';
import { type StartSecrets, withoutSecrets } from '../secrets/secrets.ts';

const HEARTBEAT_MS = LEASE_MS / 3;
/** What has not begun so long after its start was told of no longer may. */
const BEGIN_BEFORE_MS = LEASE_MS / 4;
/**
 * Nor so long after its place was taken: a lease counts from before its commit, and whoever is held up between the two may
 * hear of it when it is over. Work may begin something as long as the ledger has lately heard of it: whatever it does twice
 * does no harm.
 */
const IN_FORCE_MS = (LEASE_MS * 3) / 4;

type Start = Extract<EffectWork, { kind: 'start' }>;
type Probe = Extract<EffectWork, { kind: 'probe' }>;
type Await = Extract<EffectWork, { kind: 'await_place' }>;
type Accept = (routed: Routed<EffectMessage>) => void;
type Running = {
  readonly order: RunEffect;
  readonly controller: AbortController;
  readonly done: Promise<void>;
};

type FitOutcome = (
  order: RunEffect,
  epoch: number,
  outcome: Outcome,
  printed: StoredArtifact | undefined,
) => Promise<Outcome>;

export type RunnerParts = {
  readonly capabilities: HandlerRegistry;
  readonly slots: Slots;
  readonly clock: Clock;
  /** Resolves once the start is in the journal. */
  readonly journalStart: JournalStart;
  /** Stands before every target. Without it nothing is drawn from what fails. */
  readonly guard?: CircuitGuard;
  /** Why an order that waits may not begin, beside that there is no place. Without it there is no such reason. */
  readonly deferralOf?: (order: RunEffect) => Deferral | undefined;
  /** Whether starts that nobody has seen the end of can do nothing any more. Without it none is known to be over. */
  readonly allEnded?: (unended: readonly Unended[]) => boolean;
  /** The secrets of a start. Without it there are none. */
  readonly secretsOf?: (order: RunEffect) => StartSecrets;
  /** Where the output of a start goes. Without it nobody watches. */
  readonly linesOf?: (order: RunEffect, epoch: number) => StepOutput;
  /** Makes an outcome one that the ledger can take, whatever its size. Without it every outcome is taken as it is. */
  readonly fit?: FitOutcome;
  readonly log: Logger;
};

const NEVER_DEFERRED = (): undefined => undefined;
const NONE_LOST = (unended: readonly Unended[]): boolean => unended.length === 0;
const UNWATCHED: StepOutput = { print: () => undefined, end: () => Promise.resolve(undefined) };
const AS_IT_IS: FitOutcome = (_order, _epoch, outcome) => Promise.resolve(outcome);
const keyOf = (id: string, epoch: number): string => `${id} ${String(epoch)}`;

/** The lease of a start as this process sees it, by a clock that nobody can set. */
const leaseOf = (order: RunEffect, since: number | undefined, clock: Clock) => {
  const now = clock.now();
  const begins = now + (isWork(order) ? IN_FORCE_MS : BEGIN_BEFORE_MS);
  let until = Math.min(begins, (since ?? now) + IN_FORCE_MS);
  return {
    /** A heartbeat that was sent at that time has been decided: work whose lease is over hears so, and is aborted. */
    extendedFrom: (sentAt: number): void => {
      if (isWork(order)) until = Math.max(until, sentAt + IN_FORCE_MS);
    },
    assertInForce: (): void => {
      if (clock.now() <= until) return;
      throw new LeaseOver(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'the lease was over before it began'));
    },
  };
};

/** Carries out what the ledger has started, and hands back what came of it. */
export const createRunner = ({
  capabilities,
  slots: places,
  clock,
  journalStart: note,
  deferralOf: heldBy = NEVER_DEFERRED,
  allEnded: isOver = NONE_LOST,
  secretsOf = withoutSecrets,
  guard,
  linesOf,
  fit = AS_IT_IS,
  log,
}: RunnerParts) => {
  const running = new Map<string, Running>();
  /** Effects that wait for a place. The ledger offers each of them again and again; it waits once. */
  const queued = new Set<string>();
  /** The places of what runs. */
  const slots = new Set<number>();
  /** Effects in doubt that a target is being asked about, by the place that it takes. */
  const looking = new Map<number, { readonly controller: AbortController; readonly done: Promise<void> }>();
  let stopping = false;

  const begin = ({ order, epoch, slot, since }: Start, accept: Accept): void => {
    const controller = new AbortController();
    const { extendedFrom, assertInForce } = leaseOf(order, since, clock);
    const endHeartbeat = clock.every(HEARTBEAT_MS, () => {
      const sentAt = clock.now();
      const released = (): void => extendedFrom(sentAt);
      accept({ aggregate: order.id, message: { kind: 'heartbeat', epoch }, onDone: released });
    });
    const lines = linesOf?.(order, epoch) ?? UNWATCHED;
    const { signal } = controller;
    const secrets = secretsOf(order);
    const say: EffectContext['say'] = (stream, line) => lines.print(stream, secrets.hideFilled(line));
    const context = { effectId: order.id, order, epoch, signal, assertInForce, secrets, say };
    const key = keyOf(order.id, epoch);
    const done = execute(capabilities.get(order.effect.uses), order, context, {
      note,
      ...(guard !== undefined && { guard }),
      hide: secrets.hideIn,
      log,
    })
      .then((outcome) => hiddenOutcome(outcome, secrets.hideIn))
      // Under the same lease: a large log takes a moment to be on the disk.
      .then(async (given) => fit(order, epoch, given, await lines.end()))
      .then((outcome) => {
        endHeartbeat();
        // It may have begun again meanwhile, in a ledger that was set back: that is not this start's to forget.
        if (running.get(key)?.controller === controller) running.delete(key);
        slots.delete(slot);
        accept({
          aggregate: order.id,
          message: { kind: 'outcome', epoch, outcome: reportedOutcome(order, signal, outcome) },
        });
        places.free(slot);
      });
    running.set(key, { order, controller, done });
    slots.add(slot);
  };

  const look = ({ order, epoch, slot, unended }: Probe, accept: Accept): void => {
    const controller = new AbortController();
    const { signal } = controller;
    const secrets = secretsOf(order);
    const context = {
      effectId: order.id,
      order,
      epoch,
      signal,
      assertInForce: () => undefined,
      secrets,
      say: UNWATCHED.print,
    };
    // A start of this process that is still under way is not over, whatever became of its lease.
    const isRunning = [...running.values()].some((each) => each.order.id === order.id);
    const over = !isRunning && isOver(unended);
    const done = probe(capabilities.get(order.effect.uses), context, {
      isOver: over,
      ...(guard !== undefined && { guard }),
      hide: secrets.hideIn,
      log,
    }).then((said) => {
      const finding = hiddenFinding(said, secrets.hideIn);
      looking.delete(slot);
      // That this executor stops says nothing of the effect: whoever asks next is told more.
      const interrupted = signal.aborted && finding.found === 'unknown';
      if (!interrupted) accept({ aggregate: order.id, message: { kind: 'probed', epoch, finding } });
      places.free(slot);
    });
    looking.set(slot, { controller, done });
  };

  const abortAll = (which: (order: RunEffect) => boolean): void => {
    for (const { order, controller } of running.values()) if (which(order)) controller.abort();
  };

  const usesSlot = (wanted: number): boolean => looking.has(wanted) || slots.has(wanted);

  /** A place that is about to be decided about. */
  const stamped = (place: Place): Place => ({ ...place, since: clock.now() });

  /** Nothing of the order is kept while it waits: there may be tens of thousands, and the ledger has them. */
  const awaitPlace = ({ order, held: stated }: Await, accept: Accept): void => {
    const { id, attempt } = order;
    if (!queued.has(id)) {
      queued.add(id);
      places.wait(order, placed(id, accept));
    }
    // It is offered again every few seconds: a circuit that has opened meanwhile is found then.
    const held = queued.has(id) && stated !== true ? heldBy(order) : undefined;
    if (held !== undefined) accept({ aggregate: id, message: { kind: 'deferred', attempt, ...held } });
  };

  const placed =
    (id: RunEffect['id'], accept: Accept) =>
    (place: Place): void => {
      queued.delete(id);
      // Once the claim is decided the place is in use, or goes on to the next.
      const released = (): void => (usesSlot(place.slot) ? undefined : places.free(place.slot));
      if (stopping) released();
      else accept({ aggregate: id, message: { kind: 'claim', id, place: stamped(place) }, onDone: released });
    };

  return {
    perform: (work: EffectWork, accept: Accept): void => {
      switch (work.kind) {
        case 'start':
          return begin(work, accept);
        case 'probe':
          return look(work, accept);
        case 'abort':
          return running.get(keyOf(work.id, work.epoch))?.controller.abort();
        case 'await_place':
          return awaitPlace(work, accept);
      }
    },
    usesSlot,
    stamped,
    /**
     * Waits for what runs to end; what does not is aborted, and its lease tells the rest. Work is not waited for: it may take
     * hours, and is done again elsewhere.
     */
    stop: async (graceMs: number): Promise<void> => {
      stopping = true;
      const all = Promise.all([...running.values(), ...looking.values()].map(({ done }) => done));
      abortAll(isWork);
      for (const { controller } of looking.values()) controller.abort();
      const callOff = clock.after(graceMs, () => abortAll(() => true));
      await Promise.race([all, new Promise<void>((resolve) => void clock.after(graceMs * 2, resolve))]);
      callOff();
    },
  };
};

export type Runner = ReturnType<typeof createRunner>;

/** Work that was interrupted says nothing of itself, whatever it returns: unless it was called off, it is done again. */
const reportedOutcome = (order: RunEffect, signal: AbortSignal, outcome: Outcome): Outcome =>
  isWork(order) && signal.aborted ? { kind: 'unknown', reason: 'it was interrupted' } : outcome;
