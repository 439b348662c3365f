import type { PolicyImpacts, TestPolicy } from '@holdpoint/contracts/approval/policy-floor';
import { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { Member } from '@holdpoint/contracts/workflow/audience';
import { decodeCursor, encodeCursor } from '@holdpoint/runtime/store/page';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { CompiledFloor } from '../policy/compile-floor.ts';
import { impactOf } from '../policy/impact.ts';

const DAY_MS = 86_400_000;
/** Requests that one page looks at. */
const LOOKED_MAX = 500;
/** Compressed bytes of the views that one page reads. */
const BYTES_MAX = 4 * 1_024 * 1_024;

const Row = z.object({ id: z.string(), at: z.coerce.number(), view: ApprovalView, more: z.boolean() });

const REQUESTS = `
  SELECT id, at::text, view, more OR bytes_before + bytes > $5 AS more FROM (
    SELECT id, created_at AS at, view, bytes,
           sum(bytes) OVER (ORDER BY created_at DESC, id DESC) - bytes AS bytes_before,
           count(*) OVER () > $4 AS more, row_number() OVER (ORDER BY created_at DESC, id DESC) AS place
      FROM (SELECT id, created_at, view, pg_column_size(asked) AS bytes FROM requests
             WHERE created_at >= (extract(epoch FROM clock_timestamp()) * 1000)::bigint - $3::bigint
               AND ($1::bigint IS NULL OR (created_at, id) < ($1, $2))
             ORDER BY created_at DESC, id DESC LIMIT $4 + 1) AS latest) AS looked
   WHERE bytes_before < $5 AND place <= $4
   ORDER BY at DESC, id DESC`;

/** The requests that a floor would have changed. Each page looks at a limited number of requests. */
export const testPolicy = async (
  pool: Pool,
  floor: CompiledFloor,
  { days, limit, after }: Pick<TestPolicy, 'days' | 'limit' | 'after'>,
  people: readonly Member[] = [],
): Promise<PolicyImpacts> => {
  const from = after === undefined ? undefined : decodeCursor(after);
  const looked = Math.max(limit, LOOKED_MAX);
  const { rows } = await pool.query({
    name: 'hp_policy_impacts',
    text: REQUESTS,
    values: [from?.at ?? null, from?.id ?? null, days * DAY_MS, looked, BYTES_MAX],
  });
  const items: PolicyImpacts['items'] = [];
  let examined = 0;
  let last: z.infer<typeof Row> | undefined;
  const read = z.array(Row).parse(rows);
  for (const row of read) {
    if (items.length >= limit) break;
    const impact = impactOf(row.view, floor, people);
    if (impact !== undefined) items.push(impact);
    examined += 1;
    last = row;
  }
  const isCut = examined < read.length || read.at(-1)?.more === true;
  return {
    digest: floor.digest,
    examined,
    items,
    ...(isCut && last !== undefined && { next: encodeCursor({ at: last.at, id: last.id }) }),
  };
};
