import { type EnrolledKey, EXECUTORS_MAX, REVOKED_MAX } from '@holdpoint/contracts/approval/signing-keys';
import { ExecutorKeyView } from '@holdpoint/contracts/approval/enrolment';
import type { Pool } from 'pg';
import { z } from 'zod';

const Row = z.object({ view: ExecutorKeyView.extend({ x: z.string() }) });

type Key = z.infer<typeof Row>['view'];

const latest = (status: Key['status'], limit: string): string =>
  `(SELECT view FROM heads WHERE kind = 'executor' AND status = '${status}' ORDER BY created_at DESC, id LIMIT ${limit})`;

/** Keys of executors, the latest first. */
const readKeys = async (
  pool: Pool,
  revokedMax: number,
): Promise<{ readonly enrolled: readonly Key[]; readonly revoked: readonly Key[] }> => {
  const { rows } = await pool.query({
    name: 'hp_executor_keys',
    text: `${latest('enrolled', '$1')} UNION ALL ${latest('revoked', '$2')}`,
    values: [EXECUTORS_MAX, revokedMax],
  });
  const keys = z
    .array(Row)
    .parse(rows)
    .map(({ view }) => view);
  return {
    enrolled: keys.filter(({ status }) => status === 'enrolled'),
    revoked: keys.filter(({ status }) => status === 'revoked'),
  };
};

export type ExecutorKeys = {
  readonly executors: readonly EnrolledKey[];
  readonly revoked: readonly string[];
};

/** The part of the keys statement about executors. */
export const readExecutorKeys = async (pool: Pool): Promise<ExecutorKeys> => {
  const { enrolled, revoked } = await readKeys(pool, REVOKED_MAX);
  return {
    executors: enrolled.map(({ name, x }) => ({ name, x })),
    revoked: revoked.map(({ key }) => key),
  };
};

/** Enrolled keys first, then revoked ones. */
export const listExecutors = async (pool: Pool): Promise<ExecutorKeyView[]> => {
  const { enrolled, revoked } = await readKeys(pool, EXECUTORS_MAX);
  return [...enrolled, ...revoked].map(({ x: _, ...view }) => view);
};
