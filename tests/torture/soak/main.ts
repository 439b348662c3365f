import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { join, resolve } from 'node:path';
import { dataDirOf } from '@holdpoint/infra/local/folders';
import { messageOf } from '@holdpoint/infra/local/problem';
import { onStdout } from '@holdpoint/infra/local/progress';
import { Command } from 'commander';
import { chooseFaults, parseDuration } from '../command-line.ts';
import { startCountedLocal } from '../deployment/counted-local.ts';
import type { Deployment } from '../deployment/deployment.ts';
import { createHistory } from '../history.ts';
import { makePlan } from '../plan.ts';
import { soakFaults } from './faults.ts';
import { soakText } from './report.ts';
import { soak } from './soak.ts';

const EXIT = { held: 0, grows: 1, failed: 2 } as const;
const { say } = onStdout;

type Options = {
  readonly duration: number;
  readonly rate: string;
  readonly every: number;
  readonly faultEvery: number;
  readonly faults?: readonly string[];
  readonly keep?: number;
  readonly settle: number;
  readonly seed?: string;
  readonly data?: string;
  readonly report?: string;
};

const KEEP_MIN_MS = 45_000;
const KEEP_MAX_MS = 300_000;

/** Short enough that tables reach their final size before the second half; longer than any redelivery. */
const keepOf = ({ keep, duration }: Options): number =>
  keep ?? Math.min(KEEP_MAX_MS, Math.max(KEEP_MIN_MS, Math.round(duration / 6)));

const listenForEnd = (): AbortSignal => {
  const leave = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => leave.abort());
  return leave.signal;
};

const planOf = (options: Options, seed: string, deployment: Deployment) =>
  makePlan({
    seed,
    durationMs: options.duration,
    everyMs: options.faultEvery,
    faults: chooseFaults(soakFaults(deployment), options.faults),
    surroundings: { instances: deployment.instances.map(({ name }) => name), workers: deployment.workers },
  });

const run = async (options: Options): Promise<void> => {
  const seed = options.seed ?? randomBytes(4).toString('hex');
  const folder = resolve(options.data ?? join(dataDirOf(process.env), 'soak'));
  const reportFile = resolve(options.report ?? join(folder, 'report.json'));
  mkdirSync(folder, { recursive: true });
  const leave = listenForEnd();
  say(
    `Soaking a Holdpoint for ${(options.duration / 60_000).toFixed(1)} min, seed ${seed}. Report: ${reportFile}`,
  );
  const { deployment, target } = await startCountedLocal(folder, seed, {
    env: process.env,
    progress: onStdout,
    workers: 0,
  });
  const history = createHistory(join(folder, 'history.ndjson'));
  try {
    const report = await soak({
      deployment,
      target,
      plan: planOf(options, seed, deployment),
      faults: soakFaults(deployment),
      folder,
      history,
      run: randomBytes(3).toString('hex'),
      tasksPerSecond: Number(options.rate),
      everyMs: options.every,
      keepMs: keepOf(options),
      settleWithinMs: options.settle,
      say,
      leave,
    });
    const machine = { cores: cpus().length, processor: cpus()[0]?.model, memoryBytes: totalmem() };
    const dated = { date: new Date().toISOString(), node: process.version, machine, ...report };
    writeFileSync(reportFile, `${JSON.stringify(dated)}\n`);
    for (const line of soakText(report)) say(line);
    process.exitCode = report.held ? EXIT.held : EXIT.grows;
  } finally {
    history.close();
    await deployment.stop();
  }
};

const command = new Command('soak')
  .description(
    'Steady load with faults on a Holdpoint of its own, and a line through everything that might grow: memory, open files, tables, streams, delays.',
  )
  .option('--duration <time>', 'how long', parseDuration, 3_600_000)
  .option('--rate <number>', 'Tasks per second.', '10')
  .option('--every <time>', 'Interval between measurements.', parseDuration, 10_000)
  .option('--fault-every <time>', 'Average interval between faults.', parseDuration, 20_000)
  .option(
    '--keep <time>',
    'how long what has ended is kept; by default a sixth of the run, at most 5 min',
    parseDuration,
  )
  .option('--faults <names>', 'Faults or fault groups, comma-separated.', (text: string) => text.split(','))
  .option('--settle <time>', 'Time to come to rest after the load.', parseDuration, 420_000)
  .option('--seed <text>', 'Seed of tasks and faults.')
  .option('--data <folder>', 'Data folder.')
  .option('--report <file>', 'File for the result as JSON.')
  .action(run);

try {
  await command.parseAsync();
} catch (error) {
  process.stderr.write(`soak: ${messageOf(error)}\n`);
  process.exitCode = EXIT.failed;
}
