import { type EnrolledKey, EXECUTORS_MAX, REVOKED_MAX } from '@holdpoint/contracts/approval/signing-keys';
import { ExecutorKeyView } from '@holdpoint/contracts/approval/enrolment';
import type { Pool } from 'pg';
import { z } from 'zod';

const Row = z.object({ view: ExecutorKeyView.extend({ x: z.string() }) });

/** Keys of executors, the latest first. */
const readKeys = async (
  pool: Pool,
  status: ExecutorKeyView['status'],
  limit: number,
): Promise<readonly z.infer<typeof Row>['view'][]> => {
  const { rows } = await pool.query({
    name: 'hp_executor_keys',
    text: `SELECT view FROM heads WHERE kind = 'executor' AND status = $1 ORDER BY created_at DESC, id LIMIT $2`,
    values: [status, limit],
  });
  return z
    .array(Row)
    .parse(rows)
    .map(({ view }) => view);
};

export type ExecutorKeys = {
  readonly executors: readonly EnrolledKey[];
  readonly revoked: readonly string[];
};

/** The part of the keys statement about executors. */
export const readExecutorKeys = async (pool: Pool): Promise<ExecutorKeys> => {
  const [enrolled, revoked] = await Promise.all([
    readKeys(pool, 'enrolled', EXECUTORS_MAX),
    readKeys(pool, 'revoked', REVOKED_MAX),
  ]);
  return {
    executors: enrolled.map(({ name, x }) => ({ name, x })),
    revoked: revoked.map(({ key }) => key),
  };
};

/** Enrolled keys first, then revoked ones. */
export const listExecutors = async (pool: Pool): Promise<ExecutorKeyView[]> => {
  const [enrolled, revoked] = await Promise.all([
    readKeys(pool, 'enrolled', EXECUTORS_MAX),
    readKeys(pool, 'revoked', EXECUTORS_MAX),
  ]);
  return [...enrolled, ...revoked].map(({ x: _, ...view }) => view);
};
