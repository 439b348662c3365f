import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { count, oneOf } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { withExample } from '../kit/example.ts';
import { loadJob } from '../job/job.ts';
import { loadJobs } from '../job/load.ts';
import { focusOn, type Plan, planOf } from '../job/plan.ts';
import { planDag, planJson, planRaw, planSummary } from '../job/plan-text.ts';
import { jobName, type JobName } from '../job/reference.ts';
import { fitLines, type Line } from '../output/painted.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';
import { checkRaw } from './jobs-reading.ts';

const FORMATS = ['summary', 'dag', 'json'] as const;
const RUNS = 100;
const INTERVAL_MIN_MS = 100;

type Schedule = {
  readonly all?: true;
  readonly job?: JobName;
  readonly format: (typeof FORMATS)[number];
  readonly maxDepth: number;
  readonly watch?: true;
  readonly top: number;
  readonly intervalMs: number;
  readonly raw?: true;
};

const refuse = (message: string): never => {
  throw new Refusal('CLI_SCHEDULE_OPTIONS', message);
};

const check = ({ top, intervalMs, watch, format, raw }: Schedule, { terminal }: Session): void => {
  checkRaw(raw, format);
  if (top === 0) refuse('--top 0: found 0; expected at least 1');
  if (intervalMs < INTERVAL_MIN_MS)
    refuse(`--interval-ms ${String(intervalMs)}: expected at least ${String(INTERVAL_MIN_MS)}`);
  if (watch !== true) return;
  if (format !== 'summary') refuse(`--watch: found --format ${format}; expected --format summary`);
  if (terminal()?.ansi !== true)
    refuse('--watch: found no terminal with escape sequences; expected one, without --no-ansi');
};

const load = async (client: Client, { all, job, maxDepth }: Schedule, { warn }: Session): Promise<Plan> => {
  // One that does not exist is told apart from one that waits for nothing.
  if (job !== undefined) await loadJob(client, job);
  const { jobs, problems } = await loadJobs(client, RUNS);
  for (const problem of problems) warn(`warning CLI_RUN_LEFT_OUT: ${problem}`);
  if (job === undefined) return planOf(jobs, all === true);
  const focused = focusOn(planOf(jobs, true), job.id, maxDepth);
  const shown = new Set([job.id, ...planOf(jobs, all === true).jobs.map(({ id }) => id)]);
  return { jobs: focused.jobs.filter(({ id }) => shown.has(id)), edges: focused.edges };
};

const linesOf = (plan: Plan, { format, top, maxDepth }: Schedule): readonly Line[] =>
  format === 'dag' ? planDag(plan, maxDepth) : planSummary(plan, top);

/** Until the terminal is left. */
const watch = async (client: Client, options: Schedule, session: Session): Promise<never> => {
  for (;;) {
    const lines = linesOf(await load(client, options, session), options);
    session.redraw(fitLines(lines, session.terminal()));
    await pause(options.intervalMs);
  }
};

export const addSchedule = (jobs: Command, session: Session): void => {
  const { use, lines, json, now } = session;
  withExample(
    jobs
      .command('schedule')
      .description('show what is going on or held up, and what it waits for, oldest first')
      .option('-a, --all', 'what has ended as well')
      .option('--job <job>', 'this job first, and what is around it', jobName)
      .option('--format <format>', FORMATS.join(', '), oneOf(FORMATS), 'summary')
      .option('--max-depth <edges>', 'how far around a job, and how deep a graph', count, 3)
      .option('--watch', 'draw it again and again (on a terminal)')
      .option('--top <jobs>', 'how many rows of a summary', count, 10)
      .option('--interval-ms <ms>', 'how often it is drawn', count, 500)
      .option('--raw', 'typed fields instead of text (with --format json)')
      .action((options: Schedule) => {
        check(options, session);
        return use(async (client) => {
          if (options.watch === true) return watch(client, options, session);
          const plan = await load(client, options, session);
          if (options.raw) json(planRaw(plan, now()));
          else if (options.format === 'json') json(planJson(plan));
          else {
            const drawn = linesOf(plan, options);
            lines(options.format === 'summary' ? fitLines(drawn, session.terminal()) : drawn);
          }
          return undefined;
        });
      }),
    'jobs schedule --watch',
    'jobs schedule --job t-4k2m9x1c7h0a/build --format dag',
  );
};
