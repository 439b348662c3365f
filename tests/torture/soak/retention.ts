import { AUDIT_ID } from '@holdpoint/contracts/values/ids';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { Deployment } from '../deployment/deployment.ts';

/**
 * Keeps what has ended for so short a time that a run sees it go. The owner of a database may take away the floor; in one
 * that is thrown away, and of which every old message is known, that is safe.
 */
export const keepFor = async ({ query }: Pick<Deployment, 'query'>, ms: number): Promise<void> => {
  for (const service of SERVICES) {
    await query(`ALTER TABLE ${service}.retention DROP CONSTRAINT IF EXISTS retention_floor`);
    await query(`UPDATE ${service}.retention SET keep = interval '${String(ms)} milliseconds'`);
  }
};

const BATCH = 1_000;

/** All that may go, at once instead of within a minute. */
const retireAll = async ({ query }: Pick<Deployment, 'query'>): Promise<number> => {
  let total = 0;
  for (let found = 1; found > 0;) {
    found = 0;
    for (const service of SERVICES) {
      const [row] = await query(`SELECT ${service}.retire(${String(BATCH)}) AS retired`);
      found += Number(row?.['retired']);
    }
    total += found;
  }
  return total;
};

export type Left = {
  readonly service: string;
  /** Removed by the services themselves, during the run. */
  readonly retired: number;
  /** Ended so long before that they should have removed it, and still there. */
  readonly overdue: number;
  /** What is in its tables once all has been removed that may be: nothing, for every task has ended. */
  readonly rows: number;
};

/** A service comes to it twice a minute, and a task goes after what belongs to it. */
const COMES_TO_IT_WITHIN = "interval '3 minutes'";

const numbersOf = async (
  { query }: Pick<Deployment, 'query'>,
  sqlFor: (service: string) => string,
): Promise<ReadonlyMap<string, number>> => {
  const found = new Map<string, number>();
  for (const service of SERVICES) {
    const [row] = await query(`SELECT (${sqlFor(service)})::int AS n`);
    found.set(service, Number(row?.['n'] ?? Number.NaN));
  }
  return found;
};

/** Everything but the anchors of the audit log, which are kept as long as it is. */
const ROWS = [
  ['heads', `id <> '${AUDIT_ID}'`],
  ['events', `aggregate <> '${AUDIT_ID}'`],
  ['snapshots', `aggregate <> '${AUDIT_ID}'`],
  ['timers', 'true'],
  ['outbox', 'true'],
] as const;

/** Of a deployment that has come to rest: removes all that has ended, and says what is left. */
export const clearOut = async (deployment: Pick<Deployment, 'query'>): Promise<readonly Left[]> => {
  const retired = await numbersOf(deployment, (service) => `SELECT retired FROM ${service}.retention`);
  const overdue = await numbersOf(
    deployment,
    (service) => `SELECT count(*) FROM ${service}.heads, ${service}.retention
                   WHERE finished_at < now() - keep - ${COMES_TO_IT_WITHIN}`,
  );
  await keepFor(deployment, 0);
  await retireAll(deployment);
  const rows = await numbersOf(
    deployment,
    (service) =>
      `SELECT ${ROWS.map(([table, which]) => `(SELECT count(*) FROM ${service}.${table} WHERE ${which})`).join(' + ')}`,
  );
  const numberOf = (numbers: ReadonlyMap<string, number>, service: string) =>
    numbers.get(service) ?? Number.NaN;
  return SERVICES.map((service) => ({
    service,
    retired: numberOf(retired, service),
    overdue: numberOf(overdue, service),
    rows: numberOf(rows, service),
  }));
};
