import { setTimeout as delay } from 'node:timers/promises';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { DATABASE } from '@holdpoint/infra/credentials/layout';
import type { RunningStack } from '@holdpoint/infra/local/stack';
import { cpuSeconds, memoryOf, shareOf } from '../kit/processes.ts';
import { round } from './report/percentiles.ts';

/** By then the start has left nothing to be done, and the code that runs each second is compiled. */
const SETTLED_MS = 150_000;
const MIB = 1_048_576;

/** Transactions of all services so far. */
export const transactions = ({ postgres }: RunningStack): Promise<number> =>
  withAdmin(postgres.admin, async (client) => {
    const { rows } = await client.query<{ ended: string }>(
      'select xact_commit + xact_rollback as ended from pg_stat_database where datname = $1',
      [DATABASE],
    );
    return Number(rows[0]?.ended);
  });

/** What the processes take while nothing happens. */
export const measureRest = async (
  running: RunningStack,
  pids: Readonly<Record<string, number>>,
  seconds: number,
): Promise<object> => {
  await delay(SETTLED_MS);
  const before = await transactions(running);
  const [began, cpuBefore] = [performance.now(), await cpuSeconds(pids)];
  await delay(seconds * 1_000);
  const [cpuAfter, took] = [await cpuSeconds(pids), (performance.now() - began) / 1_000];
  const ended = (await transactions(running)) - before;
  // Services that share a process have one entry in the sum.
  const processes = [...new Map(Object.entries(pids).map(([name, pid]) => [pid, name])).entries()];
  const percentOf = (name: string): number => (((cpuAfter[name] ?? 0) - (cpuBefore[name] ?? 0)) * 100) / took;
  const percent = processes.map(([, name]) => [name, percentOf(name)] as const);
  const memory = await Promise.all(
    processes.map(async ([pid, name]) => {
      const { now, most } = await memoryOf(pid);
      return [
        name,
        {
          residentMib: round(now / MIB, 1),
          peakMib: round(most / MIB, 1),
          shareMib: round((await shareOf(pid)) / MIB, 1),
        },
      ] as const;
    }),
  );
  return {
    measurement: 'rest',
    seconds: round(took, 1),
    percentOfOneCore: round(
      percent.reduce((sum, [, each]) => sum + each, 0),
      2,
    ),
    percentBy: Object.fromEntries(percent.map(([name, each]) => [name, round(each, 2)])),
    memoryBy: Object.fromEntries(memory),
    transactionsPerSecond: round(ended / took, 1),
  };
};
