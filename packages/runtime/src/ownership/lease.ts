import type { Clock } from '../engine/clock.ts';
import type { CoreLog } from '../engine/core-log.ts';
import { errorFields } from '../engine/error-fields.ts';

/** Which process decides for a service. Each takeover increments the epoch, so that a hold never comes back. */
export type Hold = { readonly owner: string; readonly epoch: number };

/** The lease as a look has left it. */
export type Lease = {
  readonly isMine: boolean;
  readonly epoch: number;
  /** The time from a renewal until the lease is over. */
  readonly lastsMs: number;
  /** Time until the lease of another process is over, by the store's clock. */
  readonly leftMs: number;
};

/** The lease of one service, as one process sees it. Throws when the store is away. */
export interface LeaseStore {
  /** Renews the lease of this process, or takes a lease that is free, over or impossible. */
  look(): Promise<Lease>;
  /** Ends the lease of this process, so that another one can take it at once. */
  release(): Promise<void>;
}

/**
 * `adrift`: no process is known to own the service, because the store does not answer. The process takes no messages, and
 * still answers requests, with a refusal.
 */
export type Standing =
  | { readonly is: 'owner'; readonly epoch: number }
  | { readonly is: 'standby' | 'adrift' };

/** A lease without a renewal is over after this. */
export const LEASE_MS = 3_000;
/**
 * The longest lease. A lease that runs out shortly after another one shows owners that are slow, not gone: each takeover costs
 * their machine more than it saves. So the next lease is twice as long.
 */
export const LEASE_MAX_MS = 24_000;
/** After this time without a lease that runs out, leases are short again. */
export const CALM_MS = 60_000;
/** The interval of the renewals. */
export const RENEW_MS = 1_000;
/** The interval at which a standby looks: the time until it notices that the owner's process has ended. */
export const STANDBY_LOOK_MS = 500;
/** The look that follows the end of another lease, by a clock that may run a little faster. */
const AFTER_END_MS = 20;
/** The part of an interval by which a look may come before its moment. */
const EARLY_MAX = 0.05;

export type OwnershipOptions = {
  readonly leases: LeaseStore;
  readonly clock: Pick<Clock, 'now' | 'after'>;
  readonly log: CoreLog;
  /** Called with each new standing, one call after another. */
  readonly changed: (standing: Standing) => Promise<void> | void;
};

export type Ownership = ReturnType<typeof startOwnership>;

/**
 * Keeps the lease of a service, or waits for it. The lease only saves double work: what makes two owners harmless is the
 * fence in each commit.
 */
export const startOwnership = ({ leases, clock, log, changed }: OwnershipOptions) => {
  let standing: Standing = { is: 'adrift' };
  let heldUntil = -Infinity;
  let isStopped = false;
  let callOff = (): void => undefined;
  let callOffExpiry = (): void => undefined;
  let changing: Promise<void> = Promise.resolve();
  let looking: Promise<void> | undefined;

  const become = (next: Standing): void => {
    if (next.is === standing.is && (next.is !== 'owner' || standing.is !== 'owner')) return;
    standing = next;
    const earlier = changing;
    changing = (async () => {
      await earlier;
      try {
        await changed(next);
      } catch (error) {
        log.error({ ...errorFields(error), ...next }, 'change of owner failed');
      }
    })();
  };

  /** By the clock of this process: a process that was frozen finds its lease over when it wakes. */
  const isOwner = (): boolean => standing.is === 'owner' && clock.now() < heldUntil;

  const checkExpiry = (): void => {
    if (standing.is === 'owner' && !isOwner()) become({ is: 'adrift' });
  };

  const hold = (epoch: number, until: number): void => {
    // An epoch of which this process does not know was taken by a look without an answer.
    if (standing.is === 'owner' && standing.epoch !== epoch) become({ is: 'adrift' });
    heldUntil = until;
    callOffExpiry();
    callOffExpiry = clock.after(until - clock.now(), checkExpiry);
    if (standing.is !== 'owner') become({ is: 'owner', epoch });
  };

  /** Services of a process look at the same moments. A timer may be early. */
  const nextBeat = (everyMs: number): number => {
    const left = everyMs - (clock.now() % everyMs);
    return left < everyMs * EARLY_MAX ? left + everyMs : left;
  };

  const look = async (): Promise<void> => {
    const began = clock.now();
    checkExpiry();
    try {
      const lease = await leases.look();
      if (isStopped) return;
      if (!lease.isMine) {
        become({ is: 'standby' });
        plan(Math.max(AFTER_END_MS, Math.min(nextBeat(STANDBY_LOOK_MS), lease.leftMs + AFTER_END_MS)));
      } else if (clock.now() < began + lease.lastsMs) {
        hold(lease.epoch, began + lease.lastsMs);
        plan(nextBeat(RENEW_MS));
      } else {
        plan(0);
      }
    } catch (error) {
      log.warn(errorFields(error), 'the lease of the service could not be renewed');
      checkExpiry();
      if (standing.is === 'standby') become({ is: 'adrift' });
      plan(STANDBY_LOOK_MS);
    }
  };

  const lookNow = (): Promise<void> => {
    callOff();
    looking ??= look().finally(() => {
      looking = undefined;
    });
    return looking;
  };

  const plan = (ms: number): void => {
    callOff();
    if (!isStopped) callOff = clock.after(ms, () => void lookNow());
  };

  const ready = lookNow().then(() => changing);

  return {
    /** The first look has had its effect. */
    ready,
    isOwner,
    standing: (): Standing => standing,
    /** The epoch with which this process may commit; undefined when it owns nothing. */
    epoch: (): number | undefined => (standing.is === 'owner' ? standing.epoch : undefined),
    /** A commit was fenced: another process owns the service. */
    fenced: (): void => {
      if (standing.is === 'owner') become({ is: 'adrift' });
      plan(0);
    },
    /** The owner says that it stops: looks at once. Resolves once the look has had its effect. */
    lookNow: async (): Promise<void> => {
      await lookNow();
      await changing;
    },
    /** Ends the lease. The process may still finish what it has begun: its commits are fenced when another one has taken over. */
    release: async (): Promise<void> => {
      isStopped = true;
      callOff();
      callOffExpiry();
      await looking;
      const wasOwner = standing.is === 'owner';
      become({ is: 'standby' });
      await changing;
      if (wasOwner)
        await leases
          .release()
          .catch((error: unknown) => log.warn(errorFields(error), 'the lease ends by itself'));
    },
  };
};
