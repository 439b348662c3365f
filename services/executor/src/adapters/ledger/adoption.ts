import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { EffectId } from '@holdpoint/contracts/values/ids';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { EffectMessage } from '../../effect/messages.ts';
import type { ToEffect } from '../runner/runner.ts';

/** An order that waits for a slot, by its age. */
export type WaitingOrder = { readonly id: EffectId; readonly createdAt: number };

/** Waiting orders after a place in the ledger, the oldest first. */
export type FindWaiting = (
  after: WaitingOrder | undefined,
  limit: number,
) => Promise<readonly WaitingOrder[]>;

const Found = z.array(z.object({ id: EffectId, createdAt: z.number() }));

const FIND = `
  SELECT id, created_at::float8 AS "createdAt" FROM heads
   WHERE status = 'prepared' AND coalesce(view->>'pool', '${DEFAULT_POOL}') = ANY ($1) AND (created_at, id) > ($2, $3)
   ORDER BY created_at, id LIMIT $4`;

/** Waiting orders of these pools. One index has them, and no others. */
export const waitingOrders =
  (pool: Pool, pools: readonly string[]): FindWaiting =>
  async (after, limit) => {
    const values = [pools, after?.createdAt ?? -1, after?.id ?? '', limit];
    const { rows } = await pool.query({ name: 'hp_waiting', text: FIND, values });
    return Found.parse(rows);
  };

/** A start under way. */
export type UnderWay = { readonly id: EffectId; readonly epoch: number };

const FIND_STARTS = `
  SELECT h.id, (h.view->>'epoch')::int AS epoch FROM timers t JOIN heads h ON h.id = t.aggregate
   WHERE t.name = 'lease' AND h.status = 'started'`;

/** The starts of all executors: those with a lease. */
export const startsUnderWay = (pool: Pool) => async (): Promise<readonly UnderWay[]> => {
  const { rows } = await pool.query({ name: 'hp_started', text: FIND_STARTS });
  return z.array(z.object({ id: EffectId, epoch: z.int() })).parse(rows);
};

export type AdoptionParts = {
  /** The journal of this executor. */
  readonly journal: string;
  readonly find: FindWaiting;
  readonly findStarts: () => Promise<readonly UnderWay[]>;
  /** Whether this executor has the order in its queue. */
  readonly isQueued: (id: EffectId) => boolean;
  readonly clock: Clock;
  /** The shortest interval of looks. */
  readonly lookMs: number;
  readonly log: Logger;
};

const PAGE = 1_000;
/** With up to so many waiting orders, looks come at the shortest interval. More orders make looks rarer, in proportion. */
const OFTEN_UP_TO = 1_000;
/** The longest interval, in shortest ones. */
const RAREST = 12;

/**
 * Takes over from executors that are gone. Queues orders that wait in the ledger and not in this executor. A look takes place as
 * soon as effects may start, and then every few seconds. With ten thousand waiting orders it takes place once a minute.
 */
export const createAdoption = (
  engine: Pick<Engine<ToEffect>, 'accept'>,
  { journal, find, findStarts, isQueued, clock, lookMs, log }: AdoptionParts,
) => {
  let isOpen = false;
  let drained = false;
  let dueAt = -Infinity;

  /** Resolves after the decision. What the store did not take is found by the next look, or by its timer. */
  const decide = (id: EffectId, message: EffectMessage): Promise<void> =>
    new Promise((resolve) => {
      engine.accept(
        { kind: 'effect', aggregate: id, message },
        {
          committed: () => resolve(),
          failed: ({ code }) => {
            log.error({ effect: id, code }, 'an effect of another executor cannot be taken over');
            resolve();
          },
          unavailable: () => resolve(),
        },
      );
    });
  const offer = (id: EffectId): Promise<void> => decide(id, { kind: 'timer', name: 'slot', data: null });

  /** Returns how many orders wait. */
  const lookThrough = async (): Promise<number> => {
    let waiting = 0;
    let last: WaitingOrder | undefined;
    do {
      const page = await find(last, PAGE);
      waiting += page.length;
      await Promise.all(page.filter(({ id }) => !isQueued(id)).map(({ id }) => offer(id)));
      last = page.length < PAGE ? undefined : page.at(-1);
    } while (last !== undefined && isOpen);
    return waiting;
  };

  return {
    /** Ends the starts of the journal's former owner. It has to be called before effects may start: later ones are this executor's. */
    endFormerStarts: async (): Promise<void> => {
      const starts = await findStarts();
      await Promise.all(starts.map(({ id, epoch }) => decide(id, { kind: 'abandoned', epoch, journal })));
    },
    /** Effects may start. */
    open: (): void => {
      if (isOpen || drained) return;
      isOpen = true;
      dueAt = -Infinity;
    },
    close: (): void => {
      isOpen = false;
    },
    /** The executor stops. */
    drain: (): void => {
      isOpen = false;
      drained = true;
    },
    /** Looks when a look is due. It has to be called often. Rejects when the ledger is away. */
    look: async (): Promise<void> => {
      if (!isOpen || clock.now() < dueAt) return;
      const soon = clock.now() + lookMs;
      dueAt = soon;
      const waiting = await lookThrough();
      // Effects may start again since the look began. The ledger may have changed, so the next look is due.
      if (dueAt !== soon) return;
      dueAt = clock.now() + lookMs * Math.min(RAREST, Math.max(1, waiting / OFTEN_UP_TO));
    },
  };
};
export type Adoption = ReturnType<typeof createAdoption>;
