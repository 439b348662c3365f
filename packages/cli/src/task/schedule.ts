import { setTimeout as pause } from 'node:timers/promises';
import type { Command } from 'commander';
import { count, oneOf } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { commandPath, withExample } from '../kit/example.ts';
import { loadJob } from '../job/job.ts';
import { loadJobs } from '../job/load.ts';
import { focusOn, type Plan, planOf } from '../job/plan.ts';
import { planDag, planJson, planRaw, planSummary } from '../job/plan-text.ts';
import { jobName, type JobName } from '../job/target.ts';
import { fitLines, type Line } from '../output/painted.ts';
import { Refusal } from '../kit/refusal.ts';
import type { Session } from '../kit/session.ts';
import { checkRaw } from './reading.ts';

const FORMATS = ['summary', 'dag'] as const;
const RUNS = 100;
const INTERVAL_MIN_MS = 100;
/** Node.js replaces a time above 24.8 days by 1 ms. */
const INTERVAL_MAX_MS = 3_600_000;

type Schedule = {
  readonly all?: true;
  readonly job?: JobName;
  readonly format: (typeof FORMATS)[number];
  readonly maxDepth: number;
  readonly watch?: true;
  readonly top: number;
  readonly intervalMs: number;
  readonly json?: true;
  readonly raw?: true;
};

const refuse = (message: string): never => {
  throw new Refusal('CLI_SCHEDULE_OPTIONS', message);
};

const check = ({ top, intervalMs, watch, format, json, raw }: Schedule, { terminal }: Session): void => {
  checkRaw(raw, json === true);
  if (top === 0) refuse('--top must be at least 1');
  if (intervalMs < INTERVAL_MIN_MS || intervalMs > INTERVAL_MAX_MS)
    refuse(
      `--interval-ms must be ${String(INTERVAL_MIN_MS)} to ${String(INTERVAL_MAX_MS)}, not ${String(intervalMs)}`,
    );
  if (watch !== true) return;
  if (json === true) refuse('use either --watch or --json, not both');
  if (format !== 'summary') refuse(`--watch needs --format summary, not ${format}`);
  if (terminal()?.ansi !== true) refuse('--watch needs a terminal with escape sequences, and no --no-ansi');
};

const load = async (client: Client, { all, job, maxDepth }: Schedule, { warn }: Session): Promise<Plan> => {
  // Report an unknown job, instead of an empty schedule.
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

/** Redraws until interrupted. */
const watch = async (client: Client, options: Schedule, session: Session): Promise<never> => {
  for (;;) {
    const lines = linesOf(await load(client, options, session), options);
    session.redraw(fitLines(lines, session.terminal()));
    await pause(options.intervalMs);
  }
};

export const addSchedule = (parent: Command, session: Session): void => {
  const { use, lines, json, now } = session;
  withExample(
    parent
      .command('schedule')
      .description('show running and waiting jobs with the reason they wait, oldest first')
      .option('-a, --all', 'include jobs that have ended')
      .option('--job <job>', 'show this job first, then its neighbours', jobName)
      .option('--format <format>', FORMATS.join(', '), oneOf(FORMATS), 'summary')
      .option('--max-depth <edges>', 'distance from the job, and depth of the graph, in edges', count, 3)
      .option('--watch', 'redraw until interrupted (terminal only)')
      .option('--top <jobs>', 'rows of the summary', count, 10)
      .option('--interval-ms <ms>', 'redraw interval in milliseconds', count, 500)
      .option('--json', 'print the jobs and their order as JSON')
      .option('--raw', 'print typed fields instead of text (with --json)')
      .action((options: Schedule) => {
        check(options, session);
        return use(async (client) => {
          if (options.watch === true) return watch(client, options, session);
          const plan = await load(client, options, session);
          if (options.raw) json(planRaw(plan, now()));
          else if (options.json) json(planJson(plan));
          else {
            const drawn = linesOf(plan, options);
            lines(options.format === 'summary' ? fitLines(drawn, session.terminal()) : drawn);
          }
          return undefined;
        });
      }),
    `${commandPath(parent)} schedule --watch`,
    `${commandPath(parent)} schedule --job t-4k2m9x1c7h0a/build --format dag`,
  );
};
