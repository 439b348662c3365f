import { StuckJob } from '@holdpoint/contracts/recovery/views';
import { pageById } from '@holdpoint/runtime/store/page';
import type { Pool } from 'pg';
import { z } from 'zod';
import { STUCK_STATUS } from './summary.ts';

const Row = z.object({ id: z.string(), view: z.object({ stuck: z.array(StuckJob) }) });

/** Stuck jobs by the id of their task; `limit` counts tasks. */
export const listStuck = async (
  pool: Pool,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<{ items: StuckJob[]; next?: string }> => {
  const { rows } = await pool.query(
    'SELECT id, view FROM heads WHERE status = $1 AND id > $2 ORDER BY id LIMIT $3',
    [STUCK_STATUS, after ?? '', limit + 1],
  );
  const { rows: shown, ...next } = pageById(z.array(Row).parse(rows), limit);
  return { items: shown.flatMap(({ view }) => view.stuck), ...next };
};
