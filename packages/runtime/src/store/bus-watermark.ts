import type { Pool } from 'pg';
import { z } from 'zod';
import { RESEND } from '../decider.ts';

/** What was last seen of a stream. Times are text of the server, with nanoseconds. */
export type StreamMark = {
  readonly created: string;
  readonly lastSeq: number;
  /** When the server stored the last message. */
  readonly lastAt: string;
};

/**
 * What the keeper of the topology last saw of the bus. PostgreSQL keeps it, because the bus may lose its own tail. An older
 * mark is as safe as the latest: it only repeats more messages.
 */
export type Watermark = {
  /** Ids of servers, the latest first. A server gets a new id with each start. */
  readonly servers: readonly string[];
  readonly streams: Readonly<Record<string, StreamMark>>;
};

const Row = z.object({
  seen: z.object({
    servers: z.array(z.string()),
    streams: z.record(z.string(), z.object({ created: z.string(), lastSeq: z.int(), lastAt: z.string() })),
  }),
});

export const createWatermarkStore = (pool: Pool) => ({
  read: async (): Promise<Watermark> => {
    const { rows } = await pool.query({ name: 'hp_watermark', text: 'SELECT seen FROM bus_watermark' });
    return Row.parse(rows[0]).seen;
  },
  /** An unchanged mark writes nothing. */
  write: async (mark: Watermark): Promise<void> => {
    await pool.query({
      name: 'hp_mark',
      text: 'UPDATE bus_watermark SET seen = $1::jsonb WHERE seen <> $1::jsonb',
      values: [JSON.stringify(mark)],
    });
  },
});

const HURRIED_AT_ONCE = 500;
/** Resends per second after a loss of the bus: well below what a service handles, so that new work continues. */
const RESENDS_PER_SECOND = 200;
const SPREAD_MIN_MS = 5_000;

const WAITING = `FROM timers WHERE due_at > clock_timestamp() + $1 * interval '1 millisecond' AND data->>'${RESEND}' IS NOT NULL`;
const Count = z.object({ count: z.coerce.number().int() });

/**
 * Makes every resend timer due soon, spread over the time that so many resends take: the bus may have lost the question or its
 * answer. Returns how many. A timer that a batch holds is left out: that batch sends after the loss.
 */
export const hurryResends = async (pool: Pool): Promise<number> => {
  const { rows } = await pool.query(`SELECT count(*) ${WAITING}`, [SPREAD_MIN_MS]);
  const { count } = Count.parse(rows[0]);
  const spread = Math.max(SPREAD_MIN_MS, (count / RESENDS_PER_SECOND) * 1_000);
  for (let total = 0; ;) {
    const { rowCount } = await pool.query(
      `UPDATE timers t SET due_at = clock_timestamp() + random() * $1 * interval '1 millisecond'
         FROM (SELECT aggregate, name ${WAITING} ORDER BY due_at LIMIT ${String(HURRIED_AT_ONCE)}
                 FOR UPDATE SKIP LOCKED) w
        WHERE t.aggregate = w.aggregate AND t.name = w.name`,
      [spread],
    );
    total += rowCount ?? 0;
    if ((rowCount ?? 0) < HURRIED_AT_ONCE) return total;
  }
};
