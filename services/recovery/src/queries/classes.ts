import {
  type CountClasses,
  FAILURE_BUCKET_MS,
  type FailureBucket,
  FailureCount,
} from '@holdpoint/contracts/recovery/views';
import { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { Pool } from 'pg';
import { z } from 'zod';

const Row = FailureCount.extend({ at: z.coerce.number().int(), count: z.coerce.number().int() });

type Range = { readonly from: number; readonly to: number };

/** The whole buckets that cover the range. Buckets are aligned to the epoch, as UTC hours and days are. */
export const wholeBuckets = ({ from, to, bucket }: CountClasses): Range => {
  const size = FAILURE_BUCKET_MS[bucket];
  return { from: Math.floor(from / size) * size, to: Math.ceil(to / size) * size };
};

/** Failed attempts per class and bucket, in order of time. Classes of later releases are left out. */
export const countClasses = async (
  pool: Pool,
  query: CountClasses,
): Promise<Range & { bucket: FailureBucket; items: FailureCount[] }> => {
  const { from, to } = wholeBuckets(query);
  const { rows } = await pool.query({
    name: 'hp_classes',
    text: `SELECT hour / $3 * $3 AS at, class, sum(count) AS count FROM failure_counts
            WHERE hour >= $1 AND hour < $2 AND class = ANY ($4) GROUP BY 1, 2 ORDER BY 1, 2`,
    values: [from, to, FAILURE_BUCKET_MS[query.bucket], FailureClass.options],
  });
  return { from, to, bucket: query.bucket, items: z.array(Row).parse(rows) };
};
