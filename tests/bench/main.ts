import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { DATABASE, layout } from '@holdpoint/infra/credentials/layout';
import { root } from '@holdpoint/infra/local/folders';
import { connectOperator } from '@holdpoint/infra/local/operator';
import { onStderr } from '@holdpoint/infra/local/progress';
import { createStack, type RunningStack } from '@holdpoint/infra/local/stack';
import { setTimeout as delay } from 'node:timers/promises';
import { loadDecidable, loadListed, measureDecisions, measureInboxPages } from './approvals.ts';
import { findChromium } from '../kit/console/browser.ts';
import { liftConnectionLimits } from '../kit/stack/prepare-postgres.ts';
import { bytesBelow, bytesPerTask, type Stored, storedIn } from './report/disk.ts';
import { measureConsole } from './console.ts';
import { connectOrders } from './effects.ts';
import { loadFailures, measureClasses } from './failure-classes.ts';
import { percentiles, round } from './report/percentiles.ts';
import { measureGraph, measureValidation } from './graphs.ts';
import { createLoad } from './load.ts';
import { cpuSeconds, findProcess, memoryOf } from '../kit/processes.ts';
import { measurePrograms } from './programs.ts';
import { readProfiles } from './report/profile.ts';
import { measureRemote } from './remote.ts';
import { measureReplicas, startReplicas } from './replicas.ts';
import { measureRest, transactions } from './rest.ts';
import { measureRestart } from './restart.ts';
import { loadTasks, measureTaskPages } from './task-lists.ts';
import { startTraceSink } from './traces.ts';
import { measureWatchers } from './watchers.ts';

const { values } = parseArgs({
  options: {
    /** Seconds for each measurement. */
    seconds: { type: 'string', default: '20' },
    /** Seconds at rest, before everything else; 0 skips them. */
    rest: { type: 'string', default: '60' },
    'in-flight': { type: 'string', default: '1,50,500' },
    /** Tasks that stay at their gates in the second round; 0 skips it. */
    waiting: { type: 'string', default: '20000' },
    /** Graph sizes in nodes; empty skips them. */
    graphs: { type: 'string', default: '100,1000,5000' },
    /** Effects without work in flight, straight to the executor; empty skips them. */
    effects: { type: 'string', default: '1,50,500' },
    /** Claimants of remote effects, over NATS and over HTTP; 0 skips them. */
    claimants: { type: 'string', default: '50' },
    /** Claimants that wait for orders while the processor time is measured. */
    'idle-claimants': { type: 'string', default: '1000' },
    /** Effects that wait in the executor while its memory is measured; 0 skips it. */
    queued: { type: 'string', default: '10000' },
    /** Requests that are pending while others are decided; 0 skips it. */
    pending: { type: 'string', default: '100000' },
    /** Decisions per second. */
    decisions: { type: 'string', default: '500' },
    /** Listed requests; 0 skips them. */
    inbox: { type: 'string', default: '1000000' },
    /** Listed tasks with every filter; 0 skips them. */
    listed: { type: 'string', default: '1000000' },
    /** Failures counted by class; 0 skips them. */
    failures: { type: 'string', default: '1000000' },
    /** WebSocket watchers; 0 skips them. */
    watchers: { type: 'string', default: '1000' },
    /** Tasks of a program with three phases in flight; empty skips them. */
    programs: { type: 'string', default: '1,50' },
    /** Requests shown in a browser, if chromium is present; 0 skips them. */
    console: { type: 'string', default: '50' },
    /** `core`: one process runs orchestrator, approvals and recovery. `apart`: one process for each service. */
    form: { type: 'string', default: 'core' },
    /** Tasks in flight when the processes of all services are killed; 0 skips it. */
    restart: { type: 'string', default: '500' },
    /** Little memory in place of throughput, as `npm start` prefers. */
    small: { type: 'boolean', default: false },
    /** Replicas of each service, one measurement for each number; empty skips them. */
    replicas: { type: 'string', default: '' },
    /** Tasks in flight with replicas. */
    'replicas-in-flight': { type: 'string', default: '500' },
    /** Share of traced tasks, 0 to 1. Spans are discarded. Default: no tracing. */
    traces: { type: 'string' },
    /** Profiles the services too: slower, so its numbers are not comparable. */
    profile: { type: 'boolean', default: false },
  },
});
const seconds = Number(values.seconds);
const numbers = (text: string): readonly number[] =>
  text
    .split(',')
    .filter((number) => number !== '')
    .map(Number);
const rest = Number(values.rest);
const restart = Number(values.restart);
const inFlight = numbers(values['in-flight']);
const effects = numbers(values.effects);
const claimants = Number(values.claimants);
const queued = Number(values.queued);
const waiting = Number(values.waiting);
const sizes = numbers(values.graphs);
const pending = Number(values.pending);
const inbox = Number(values.inbox);
const listed = Number(values.listed);
const failures = Number(values.failures);
const watchers = Number(values.watchers);
const programs = numbers(values.programs);
const seenInBrowser = Number(values.console);
/** Replicas are only added. */
const replicas = numbers(values.replicas).toSorted((one, other) => one - other);
/** Requests for watchers. */
const WATCHED = 20;
/** Runs of each size: the first is slower. */
const GRAPH_RUNS = 3;
const WARM_UP_SECONDS = 3;
/** The services run compiled code after so many tasks. A short run warms up for at most twice its length. */
const WARM_UP_TASKS = 10_000;
const WARM_UP_SECONDS_MAX = 60;
/** The default number of slots of the executor. */
const PLACES = 1_000;
const MIB = 1_048_576;
/** By then every order is in the ledger, and the slots are still taken. */
const QUEUED_MS = 20_000;
/** While they wait the transactions of all services are counted for so long. */
const STILL_MS = 5_000;
const PARK_AT_ONCE = 200;

const print = (measurement: object): void => void process.stdout.write(`${JSON.stringify(measurement)}\n`);

const pidsOf = async ({
  services: started,
  nats,
  postgres,
}: RunningStack): Promise<Record<string, number>> => {
  const natsPid = await findProcess('nats-server', join(dataDir, 'nats'));
  return {
    ...Object.fromEntries(Object.values(started).map(({ name, pid }) => [name, pid()])),
    ...(nats && natsPid !== undefined && { nats: natsPid }),
    postgres: postgres.child().pid,
  };
};

/** CPU seconds so far: of servers and services with their children, and of this process. */
const cpuSoFar = async (
  pids: Readonly<Record<string, number>>,
): Promise<Readonly<Record<string, number>>> => {
  const { user, system } = process.cpuUsage();
  return { ...(await cpuSeconds(pids)), generator: (user + system) / 1e6 };
};

const dataDir = await mkdtemp(join(tmpdir(), 'holdpoint-bench-'));
const profiles = join(dataDir, 'profiles');
const profiling = async (): Promise<Record<string, Record<string, string>>> => {
  await mkdir(profiles);
  return Object.fromEntries(
    SERVICES.map((service) => [
      service,
      { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${join(profiles, service)}` },
    ]),
  );
};

/** The executor must know the capabilities without work. */
const withCapabilities = (env: Record<string, Record<string, string>>) => ({
  ...env,
  executor: {
    ...env['executor'],
    HOLDPOINT_CAPABILITIES: join(import.meta.dirname, 'bench-capabilities.ts'),
    HOLDPOINT_MAX_CONCURRENT_EFFECTS: String(PLACES),
  },
});

const share = values.traces === undefined ? undefined : Number(values.traces);
const sink = share === undefined ? undefined : await startTraceSink();
const withTraces = (env: Record<string, Record<string, string>>): Record<string, Record<string, string>> =>
  sink === undefined || share === undefined
    ? env
    : Object.fromEntries(SERVICES.map((service) => [service, { ...env[service], ...sink.env(share) }]));

const serviceEnv = withTraces(withCapabilities(values.profile ? await profiling() : {}));
const form = values.form === 'apart' ? 'apart' : 'core';
const stack = createStack({
  root,
  dataDir,
  progress: onStderr,
  env: serviceEnv,
  form,
  isSmall: values.small,
});
const leave = (): void => {
  // After an abort the measured stack stops and calls fail.
  process.on('uncaughtException', () => undefined);
  void stack.stop().then(() => process.exit(130));
};
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, leave);

try {
  const running = await stack.start();
  const client = await connectOperator(running.natsUrl, running.credentialsDir);
  const load = await createLoad(client);
  const pids = await pidsOf(running);
  const stored = async (): Promise<Stored> => ({
    ...(await storedIn(running.postgres.admin)),
    nats: await bytesBelow(join(dataDir, 'nats')),
  });

  const measure = async (atOnce: number, tasksWaiting: number): Promise<void> => {
    const [cpuBefore, before] = [await cpuSoFar(pids), await stored()];
    const sample = await load.measure(atOnce, seconds);
    const [cpuAfter, after] = [await cpuSoFar(pids), await stored()];
    const tasks = sample.totalMs.length;
    const cpuMs = Object.fromEntries(
      Object.entries(cpuAfter).map(([name, used]) => [
        name,
        round(((used - (cpuBefore[name] ?? 0)) * 1_000) / tasks, 3),
      ]),
    );
    print({
      measurement: 'gated task',
      inFlight: atOnce,
      tasksWaitingAtGates: tasksWaiting,
      tasks,
      tasksPerSecond: round(tasks / sample.seconds, 1),
      submitToCompleteMs: percentiles(sample.totalMs),
      approveToEffectMs: percentiles(sample.approveToEffectMs),
      cpuMsPerTask: round(
        Object.values(cpuMs).reduce((sum, each) => sum + each, 0),
        3,
      ),
      cpuMsPerTaskBy: cpuMs,
      bytesPerTask: bytesPerTask(before, after, tasks),
    });
  };

  print({
    measurement: 'machine',
    cores: availableParallelism(),
    processor: cpus()[0]?.model,
    memoryGiB: round(totalmem() / 2 ** 30, 1),
    node: process.version,
    nats: running.nats?.origin,
    form,
    small: values.small,
    profiled: values.profile,
    traced: share ?? 0,
    date: new Date().toISOString(),
  });
  if (rest > 0) print(await measureRest(running, pids, rest));
  for (const count of sizes) print(measureValidation(count));
  for (const count of sizes)
    for (let run = 0; run < GRAPH_RUNS; run += 1)
      print(await measureGraph(client, { count, uses: 'control.prepare' }));
  const orders = await connectOrders(running.natsUrl, running.credentialsDir, `e${String(process.pid)}`);
  if (effects.length > 0) await orders.measure(50, WARM_UP_SECONDS);
  for (const atOnce of effects) print(await orders.measure(atOnce, seconds));
  if (claimants > 0) {
    const cpu = () => cpuSoFar(pids);
    const idle = Number(values['idle-claimants']);
    await measureRemote(orders, running, { claimants, idle, seconds, client, cpu }, print);
  }
  if (queued > 0) {
    const pid = running.services.executor?.pid();
    if (pid === undefined) throw new Error('no executor is running');
    const before = await memoryOf(pid);
    const { done } = await orders.queue(PLACES, queued);
    await delay(QUEUED_MS);
    const ended = await transactions(running);
    await delay(STILL_MS);
    const transactionsPerSecond = ((await transactions(running)) - ended) / (STILL_MS / 1_000);
    const during = await memoryOf(pid);
    await done;
    const after = await memoryOf(pid);
    print({
      measurement: 'memory of the executor',
      effectsQueued: queued,
      beforeMib: round(before.now / MIB, 1),
      queuedMib: round(during.now / MIB, 1),
      transactionsPerSecond: round(transactionsPerSecond, 1),
      peakMib: round(during.most / MIB, 1),
      releasedMib: round(after.now / MIB, 1),
      releasedPeakMib: round(after.most / MIB, 1),
    });
  }
  await orders.close();
  if (watchers > 0) {
    const { natsUrl, credentialsDir, ports } = running;
    const where = { natsUrl, credentialsDir, httpPort: ports.approvals };
    print(await measureWatchers(client, where, { run: String(process.pid), watchers, requests: WATCHED }));
  }
  if (programs.length > 0)
    await measurePrograms(
      client,
      running,
      { run: `p${String(process.pid)}`, inFlight: programs, seconds },
      print,
    );
  const chromium = findChromium(process.env);
  if (seenInBrowser > 0 && chromium !== undefined) {
    const { natsUrl, credentialsDir, ports } = running;
    const where = { natsUrl, credentialsDir, httpPort: ports.approvals };
    const token = (await readFile(layout(credentialsDir).operatorToken, 'utf8')).trim();
    print(await measureConsole(client, where, { chromium, token, requests: seenInBrowser }));
  }
  const warmUp = (): Promise<unknown> => load.measure(500, 2 * seconds, WARM_UP_TASKS);
  if (inFlight.length > 0) await warmUp();
  for (const atOnce of inFlight) await measure(atOnce, 0);
  if (waiting > 0) {
    await load.park(waiting, PARK_AT_ONCE);
    // The first tasks after a checkpoint make PostgreSQL log whole pages, once for each page.
    if (inFlight.length > 0) await warmUp();
    for (const atOnce of inFlight) await measure(atOnce, waiting);
  }
  const added = { ...running.postgres.admin, database: DATABASE };
  const waits = `w${String(process.pid)}`;
  if (pending > 0) {
    print({
      measurement: 'loading requests that can be decided, by SQL',
      count: pending,
      seconds: await loadDecidable(added, waits, { from: 0, to: pending }),
    });
    const rate = Number(values.decisions);
    print(await measureDecisions(client, waits, { pending, rate, seconds }));
  }
  if (inbox > pending) {
    print({
      measurement: 'loading requests that are only listed, by SQL',
      count: inbox - pending,
      seconds: await loadListed(added, waits, { from: pending, to: inbox }),
    });
    await measureInboxPages(client, waits, inbox, print);
  }
  if (listed > 0) {
    print({
      measurement: 'loading tasks that are only listed, by SQL',
      count: listed,
      seconds: await loadTasks(added, waits, listed),
    });
    await measureTaskPages(client, waits, listed, print);
  }
  if (failures > 0) {
    print({
      measurement: 'loading failures, by SQL, and counting them',
      count: failures,
      seconds: await loadFailures(added, waits, failures),
    });
    await measureClasses(client, failures, print);
  }
  if (restart > 0) {
    await load.measure(restart, 2 * seconds, WARM_UP_TASKS);
    print(await measureRestart(client, running, { run: `r${String(process.pid)}`, inFlight: restart }));
  }
  if (replicas.length > 0) await liftConnectionLimits(running.postgres.admin);
  const more: Awaited<ReturnType<typeof startReplicas>>[number][] = [];
  for (const count of replicas) {
    while (more.length < (count - 1) * SERVICES.length)
      more.push(...(await startReplicas(running, dataDir, serviceEnv)));
    const all = {
      ...pids,
      ...Object.fromEntries(more.map(({ service, pid }, at) => [`${service}-${String(at)}`, pid()])),
    };
    const atOnce = Number(values['replicas-in-flight']);
    // New processes start and compile meanwhile.
    await load.measure(atOnce, WARM_UP_SECONDS_MAX, WARM_UP_TASKS);
    print(await measureReplicas(running, load, all, { replicas: count, inFlight: atOnce, seconds }));
  }
  await Promise.all(more.map((replica) => replica.stop()));
  await client.close();
} finally {
  await stack.stop();
  if (sink !== undefined) {
    print({ measurement: 'spans', bytes: sink.bytes() });
    sink.stop();
  }
}
if (values.profile)
  print({ measurement: 'profile, percent of CPU time by part', ...(await readProfiles(profiles)) });
await rm(dataDir, { recursive: true, force: true });
