import { setTimeout as delay } from 'node:timers/promises';
import { join } from 'node:path';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { DATABASE } from '@holdpoint/infra/credentials/layout';
import { type Child, startChild } from '@holdpoint/infra/local/process/child';
import { root } from '@holdpoint/infra/local/folders';
import { mainFile, serviceEnvironment } from '@holdpoint/infra/local/process/services';
import type { RunningStack } from '@holdpoint/infra/local/stack';
import { withAdmin } from '@holdpoint/infra/postgres/admin';
import { percentiles, round } from './report/percentiles.ts';
import type { Load } from './load.ts';
import { cpuSeconds } from '../kit/processes.ts';

export type Replica = { readonly service: ServiceName; readonly pid: () => number };

/** Starts more replicas of each service. `stop` ends them gracefully. */
export const startReplicas = async (
  running: RunningStack,
  dataDir: string,
  env: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<readonly (Replica & { readonly stop: () => Promise<void> })[]> => {
  const { natsUrl, credentialsDir, workspace, ports } = running;
  const more = SERVICES.map(async (service) => {
    const context = {
      root,
      natsUrl,
      database: { host: '127.0.0.1', port: ports.postgres, name: DATABASE },
      credentialsDir,
      workspace,
      journal: join(dataDir, 'journal'),
      state: join(dataDir, 'state'),
      httpPort: 0,
    };
    const child: Child = await startChild({
      name: service,
      command: process.execPath,
      args: [mainFile(root, service)],
      logFile: join(dataDir, 'logs', `${service}-more.log`),
      cwd: root,
      env: { ...serviceEnvironment(service, context, process.env), ...env[service] },
    });
    return { service, pid: () => child.pid, stop: async () => void (await child.stop()) };
  });
  return Promise.all(more);
};

type Cost = { readonly walBytes: number; readonly commits: number; readonly connections: number };

const costSoFar = ({ postgres }: RunningStack): Promise<Cost> =>
  withAdmin(postgres.admin, async (client) => {
    const { rows } = await client.query<{ wal: string; commits: string; connections: number }>(
      `select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0') as wal, xact_commit as commits,
              (select count(*)::int from pg_stat_activity where datname = $1) as connections
         from pg_stat_database where datname = $1`,
      [DATABASE],
    );
    const [row] = rows;
    if (row === undefined) throw new Error(`no database ${DATABASE}`);
    return { walBytes: Number(row.wal), commits: Number(row.commits), connections: row.connections };
  });

/** PostgreSQL reports commits after a session was idle for a moment. */
const TOLD_MS = 1_500;

/** The cost of a gated task with this many replicas: time, CPU, WAL, transactions, connections. */
export const measureReplicas = async (
  running: RunningStack,
  load: Load,
  pids: Readonly<Record<string, number>>,
  {
    replicas,
    inFlight,
    seconds,
  }: { readonly replicas: number; readonly inFlight: number; readonly seconds: number },
): Promise<object> => {
  await delay(TOLD_MS);
  const [cpuBefore, before] = [await cpuSeconds(pids), await costSoFar(running)];
  const sample = await load.measure(inFlight, seconds);
  const cpuAfter = await cpuSeconds(pids);
  await delay(TOLD_MS);
  const after = await costSoFar(running);
  const tasks = sample.totalMs.length;
  const cpuOf = (name: string): number =>
    round(
      (Object.entries(cpuAfter)
        .filter(([each]) => each.replace(/-\d+$/, '') === name)
        .reduce((sum, [each, used]) => sum + used - (cpuBefore[each] ?? 0), 0) *
        1_000) /
        tasks,
      3,
    );
  /** By process, busiest first. An owner is the busiest of its service, and the others stand by. */
  const cpuPercentsOf = (name: string): readonly number[] =>
    Object.entries(cpuAfter)
      .filter(([each]) => each.replace(/-\d+$/, '') === name)
      .map(([each, used]) => round(((used - (cpuBefore[each] ?? 0)) * 100) / sample.seconds, 1))
      .toSorted((one, other) => other - one);
  const names = [...new Set(Object.keys(pids).map((name) => name.replace(/-\d+$/, '')))];
  return {
    measurement: 'replicas',
    ofEachService: replicas,
    inFlight,
    tasks,
    tasksPerSecond: round(tasks / sample.seconds, 1),
    submitToCompleteMs: percentiles(sample.totalMs),
    cpuMsPerTaskBy: Object.fromEntries(names.map((name) => [name, cpuOf(name)])),
    cpuPercentByProcess: Object.fromEntries(names.map((name) => [name, cpuPercentsOf(name)])),
    walBytesPerTask: Math.round((after.walBytes - before.walBytes) / tasks),
    transactionsPerTask: round((after.commits - before.commits) / tasks, 2),
    connections: after.connections,
  };
};
