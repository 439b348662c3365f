import {
  BODY_SHOWN_BYTES,
  DEAD_LETTER_KEEP_DAYS,
  DEAD_LETTERS_COUNTED_MAX,
  DeadLetter,
  deadLetterIdOf,
  type DeadLetterPage,
  DeadLetterResolved,
  type StoredDeadLetter,
} from '@holdpoint/contracts/bus/dead-letter';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { DeadLetterStore } from '../engine/ports.ts';

const Place = z.coerce.number().int();
const Resolution = DeadLetterResolved.nullable().transform((each) => each ?? undefined);
const Shown = z.object({
  place: Place,
  letter: DeadLetter.omit({ body: true }),
  body: z.instanceof(Uint8Array),
  resolution: Resolution,
});
const Kept = Shown.extend({ id: z.string() });
const Counted = z.object({ open: Place });

const SHOWN = `place, letter, substring(body FROM 1 FOR ${String(BODY_SHOWN_BYTES)}) AS body, resolution`;

const shownOf = (
  service: ServiceName,
  { place, letter, body, resolution }: z.infer<typeof Shown>,
): StoredDeadLetter => ({
  id: deadLetterIdOf(service, place),
  service,
  letter: { ...letter, body: new TextDecoder().decode(body) },
  ...(resolution && { resolution }),
});

export const createDeadLetterStore = (pool: Pool): DeadLetterStore => ({
  find: async (place) => {
    const { rows } = await pool.query(
      'SELECT id, place, letter, body, resolution FROM dead_letters WHERE place = $1',
      [place],
    );
    return rows.length === 0 ? undefined : Kept.parse(rows[0]);
  },
  resolve: async (place, resolution) => {
    await pool.query('UPDATE dead_letters SET resolution = $2 WHERE place = $1 AND resolution IS NULL', [
      place,
      JSON.stringify(resolution),
    ]);
    const { rows } = await pool.query('SELECT resolution FROM dead_letters WHERE place = $1', [place]);
    return rows.length === 0
      ? undefined
      : z.object({ resolution: DeadLetterResolved }).parse(rows[0]).resolution;
  },
});

/** One dead letter as answers show it; undefined when there is none of this number. */
export const readDeadLetter = async (
  pool: Pool,
  service: ServiceName,
  place: number,
): Promise<StoredDeadLetter | undefined> => {
  const { rows } = await pool.query(`SELECT ${SHOWN} FROM dead_letters WHERE place = $1`, [place]);
  return rows.length === 0 ? undefined : shownOf(service, Shown.parse(rows[0]));
};

/** Unresolved dead letters before a number, the latest first. */
export const listDeadLetters = async (
  pool: Pool,
  service: ServiceName,
  limit: number,
  before: number = Number.MAX_SAFE_INTEGER,
): Promise<DeadLetterPage> => {
  const [page, count] = await Promise.all([
    pool.query(
      `SELECT ${SHOWN} FROM dead_letters WHERE resolution IS NULL AND place < $1 ORDER BY place DESC LIMIT $2`,
      [before, limit + 1],
    ),
    pool.query(
      'SELECT count(*) AS open FROM (SELECT FROM dead_letters WHERE resolution IS NULL LIMIT $1) d',
      [DEAD_LETTERS_COUNTED_MAX],
    ),
  ]);
  const found = z.array(Shown).parse(page.rows);
  const items = found.slice(0, limit).map((row) => shownOf(service, row));
  const last = items.at(-1);
  return {
    items,
    ...(found.length > limit && last !== undefined && { next: last.id }),
    open: Counted.parse(count.rows[0]).open,
  };
};

/** Removes dead letters whose retention is over. */
export const purgeDeadLetters = async (pool: Pool): Promise<void> => {
  await pool.query({
    name: 'hp_purge_dead_letters',
    text: `DELETE FROM dead_letters WHERE created_at < now() - interval '${String(DEAD_LETTER_KEEP_DAYS)} days'`,
  });
};
