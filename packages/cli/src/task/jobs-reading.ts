import { jobOf, TaskId } from '@holdpoint/contracts/values/ids';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Command } from 'commander';
import { as, oneOf, wholeNumber } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { withExample } from '../kit/example.ts';
import { findApproval } from '../job/approval.ts';
import { chosenFields } from '../job/chosen-fields.ts';
import { readDisplay } from '../job/repository-config.ts';
import { type Job, loadJob } from '../job/job.ts';
import { listBlocks, listJson, listTable, recordLines, select } from '../job/list.ts';
import { loadJobs } from '../job/load.ts';
import { loadSubject, subjectOf } from '../job/pick.ts';
import { envelope, rawJob } from '../job/raw.ts';
import { showRecord } from '../job/record.ts';
import { jobName, type JobName } from '../job/reference.ts';
import { statusSpan } from '../job/status.ts';
import { timelineOf } from '../job/timeline.ts';
import { fitLines } from '../output/painted.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';

const FORMATS = ['block', 'table', 'json'] as const;
type Format = (typeof FORMATS)[number];
const RUNS = 100;
const RUNS_MAX = 10_000;

type List = {
  readonly all?: true;
  readonly dismissFailures?: true;
  readonly format?: Format;
  readonly raw?: true;
  readonly run?: TaskId;
  readonly limit: number;
};

/** An envelope for programs makes no sense in a text for people. */
export const checkRaw = (raw: true | undefined, format: string | undefined): void => {
  if (raw === true && format !== 'json') throw new UsageError('--raw needs --format json');
};

const listJobs = async (client: Client, { run, limit }: List, { warn }: Session): Promise<readonly Job[]> => {
  if (run !== undefined) return loadSubject(client, subjectOf(undefined, run));
  const { jobs, more, problems } = await loadJobs(client, limit);
  for (const problem of problems) warn(`warning CLI_RUN_LEFT_OUT: ${problem}`);
  if (more) warn(`the newest ${String(limit)} runs are shown; --limit shows more`);
  return jobs;
};

const addList = (jobs: Command, session: Session): void => {
  const { use, lines, json, now, terminal } = session;
  withExample(
    jobs
      .command('list')
      .description('list jobs, newest run first; those that succeeded only with --all')
      .option('-a, --all', 'all of them')
      .option('--dismiss-failures', 'leave out what failed, was cancelled or is blocked')
      .option('--run <id>', 'only the jobs of this run', as(TaskId))
      .option('--limit <runs>', 'of how many runs', wholeNumber(RUNS_MAX), RUNS)
      .option('--format <format>', `${FORMATS.join(', ')} (default: table on a terminal)`, oneOf(FORMATS))
      .option('--raw', 'typed fields instead of text (with --format json)')
      .action((options: List) => {
        const display = readDisplay(session).jobs;
        const format = options.format ?? display.format ?? (terminal() === undefined ? 'block' : 'table');
        checkRaw(options.raw, format);
        return use(async (client) => {
          const filter = {
            all: options.all === true || display.showSucceeded === true,
            dismissFailures: options.dismissFailures === true,
          };
          const selection = select(await listJobs(client, options, session), filter);
          if (options.raw) json({ ...envelope(now()), jobs: selection.jobs.map((job) => rawJob(job)) });
          else if (format === 'json') json(listJson(selection, display));
          else if (format === 'table') lines(fitLines(listTable(selection), terminal()));
          else lines(listBlocks(selection, display));
          return undefined;
        });
      }),
    'jobs list --all --format table',
    'jobs list --run t-4k2m9x1c7h0a',
  );
};

type Show = { readonly format?: Format; readonly raw?: true; readonly run?: TaskId };

const showAll = async (client: Client, found: readonly Job[], options: Show, session: Session) => {
  const { lines, json, now } = session;
  const display = readDisplay(session).jobsShow;
  const format = options.format ?? display.format ?? 'block';
  const first = found[0];
  const history =
    first === undefined ? [] : (await client.call('orchestrator', 'history', { id: first.run.id })).events;
  const timed = found.map((job) => ({ job, timeline: timelineOf(history, job.node.id) }));
  if (options.raw) {
    const raw = timed.map(({ job, timeline }) => rawJob(job, timeline));
    json({ ...envelope(now()), ...(options.run === undefined ? { job: raw[0] } : { jobs: raw }) });
    return;
  }
  const records = [];
  for (const { job, timeline } of timed) {
    const approval = await findApproval(client, job.node.approval);
    records.push({ job, record: chosenFields(showRecord(job, timeline, approval), display) });
  }
  if (format === 'json')
    json(options.run === undefined ? records[0]?.record : { jobs: records.map((r) => r.record) });
  else
    lines(records.flatMap(({ job, record }, i) => [...(i === 0 ? [] : ['']), ...recordLines(record, job)]));
};

const addShow = (jobs: Command, session: Session): void => {
  withExample(
    jobs
      .command('show')
      .description('show everything that is known of a job, or of all jobs of a run')
      .argument('[job]', 'the job, as <run>/<node>', jobName)
      .option('--run <id>', 'all jobs of this run', as(TaskId))
      .option('--format <format>', FORMATS.join(', '), oneOf(FORMATS))
      .option('--raw', 'typed fields instead of text (with --format json)')
      .action((name: JobName | undefined, options: Show) => {
        const subject = subjectOf(name, options.run);
        checkRaw(options.raw, options.format);
        return session.use(async (client) => {
          await showAll(client, await loadSubject(client, subject), options, session);
          return undefined;
        });
      }),
    'jobs show t-4k2m9x1c7h0a/build --format json',
  );
};

const addStatus = (jobs: Command, { use, lines, json }: Session): void => {
  withExample(
    jobs
      .command('status')
      .description('say in one line how a job is doing')
      .argument('<job>', 'the job, as <run>/<node>', jobName)
      .option('--format <format>', 'text, json', oneOf(['text', 'json']))
      .action((name: JobName, { format }: { format?: string }) =>
        use(async (client) => {
          const { id, node } = await loadJob(client, name);
          const exit = node.exitCode === undefined ? '' : String(node.exitCode);
          const log = `HP_LOG:${subjects.log(name.task, name.node)}`;
          if (format === 'json')
            json({ job: id, status: node.job, exit_code: exit, stdout: log, stderr: log });
          else
            lines([
              [
                `${id} [`,
                statusSpan(node.job),
                `] exit=${exit === '' ? '-' : exit} stdout=${log} stderr=${log}`,
              ],
            ]);
          return undefined;
        }),
      ),
    `jobs status ${jobOf('t-4k2m9x1c7h0a', 'build')}`,
  );
};

export const addReading = (jobs: Command, session: Session): void => {
  addList(jobs, session);
  addShow(jobs, session);
  addStatus(jobs, session);
};
