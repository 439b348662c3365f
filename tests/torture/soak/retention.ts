import { AUDIT_ID } from '@holdpoint/contracts/values/ids';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { Deployment } from '../deployment/deployment.ts';

/**
 * Shortens the retention so that a run sees purges. Only the owner of a database may lower the minimum, and
 * only a test database is safe.
 */
export const keepFor = async ({ query }: Pick<Deployment, 'query'>, ms: number): Promise<void> => {
  for (const service of SERVICES) {
    await query(`ALTER TABLE ${service}.retention DROP CONSTRAINT IF EXISTS retention_floor`);
    await query(`UPDATE ${service}.retention SET keep = interval '${String(ms)} milliseconds'`);
  }
};

const BATCH = 1_000;

/** Purges everything that is due. */
const retireAll = async ({ query }: Pick<Deployment, 'query'>): Promise<number> => {
  let total = 0;
  for (let found = 1; found > 0;) {
    found = 0;
    for (const service of SERVICES) {
      const [row] = await query(`SELECT ${service}.purge(${String(BATCH)}) AS purged`);
      found += Number(row?.['purged']);
    }
    total += found;
  }
  return total;
};

export type Left = {
  readonly service: string;
  /** Purged by the services during the run. */
  readonly retired: number;
  /** Records that the services should have purged. */
  readonly overdue: number;
  /** Rows that remain after a full purge: none, because every task has ended. */
  readonly rows: number;
};

/** Services purge twice a minute, and a task goes after its records. */
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

/** Anchors of the audit log are kept with the log. */
const ROWS = [
  ['heads', `id <> '${AUDIT_ID}'`],
  ['events', `aggregate <> '${AUDIT_ID}'`],
  ['snapshots', `aggregate <> '${AUDIT_ID}'`],
  ['timers', 'true'],
  ['outbox', 'true'],
] as const;

/** Purges an idle deployment and counts what remains. */
export const clearOut = async (deployment: Pick<Deployment, 'query'>): Promise<readonly Left[]> => {
  const retired = await numbersOf(deployment, (service) => `SELECT purged FROM ${service}.retention`);
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
