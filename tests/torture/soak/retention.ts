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

/** Anchors of the audit log, and the keys of executors, are kept while the service is in use. */
const KEPT_KINDS = ['audit', 'executor'];

const rowsOf = (service: string): string => {
  const kept = `SELECT id FROM ${service}.heads WHERE kind IN (${KEPT_KINDS.map((kind) => `'${kind}'`).join(', ')})`;
  const counts = [
    `FROM ${service}.heads WHERE id NOT IN (${kept})`,
    `FROM ${service}.events WHERE aggregate NOT IN (${kept})`,
    `FROM ${service}.snapshots WHERE aggregate NOT IN (${kept})`,
    `FROM ${service}.timers`,
    `FROM ${service}.outbox`,
  ];
  return `SELECT ${counts.map((from) => `(SELECT count(*) ${from})`).join(' + ')}`;
};

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
  const rows = await numbersOf(deployment, rowsOf);
  const numberOf = (numbers: ReadonlyMap<string, number>, service: string) =>
    numbers.get(service) ?? Number.NaN;
  return SERVICES.map((service) => ({
    service,
    retired: numberOf(retired, service),
    overdue: numberOf(overdue, service),
    rows: numberOf(rows, service),
  }));
};
