import { subjects } from '@holdpoint/contracts/bus/subjects';
import { TaskId } from '@holdpoint/contracts/values/ids';
import type { Command } from 'commander';
import { as, oneOf, wholeNumber } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { commandPath, withExample } from '../kit/example.ts';
import { findApproval } from '../job/approval.ts';
import { chosenFields } from '../job/chosen-fields.ts';
import { readDisplay } from '../job/repository-config.ts';
import { type Job, loadJob, loadTarget } from '../job/job.ts';
import { listBlocks, listJson, listTable, recordLines, select } from '../job/list.ts';
import { loadJobs } from '../job/load.ts';
import { envelope, rawJob } from '../job/raw.ts';
import { showRecord } from '../job/record.ts';
import {
  asJobName,
  jobName,
  type JobName,
  type Target,
  targetFrom,
  targetName,
  type TargetOptions,
} from '../job/target.ts';
import { statusSpan } from '../job/status.ts';
import { timelineOf } from '../job/timeline.ts';
import { fitLines } from '../output/painted.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';
import { taskText } from './text.ts';

const FORMATS = ['block', 'table'] as const;
type Format = (typeof FORMATS)[number];
const RAW = ['--raw', 'print typed fields instead of text (with --json)'] as const;
const RUNS = 100;
const RUNS_MAX = 10_000;

type List = {
  readonly all?: true;
  readonly dismissFailures?: true;
  readonly format?: Format;
  readonly json?: true;
  readonly raw?: true;
  readonly run?: TaskId;
  readonly limit: number;
};

/** Typed fields exist only in JSON. */
export const checkRaw = (raw: true | undefined, json: boolean): void => {
  if (raw === true && !json) throw new UsageError('--raw needs --json');
};

const listJobs = async (client: Client, { run, limit }: List, { warn }: Session): Promise<readonly Job[]> => {
  if (run !== undefined) return loadTarget(client, { task: run });
  const { jobs, more, problems } = await loadJobs(client, limit);
  for (const problem of problems) warn(`warning CLI_RUN_LEFT_OUT: ${problem}`);
  if (more) warn(`showing the newest ${String(limit)} tasks; use --limit to see more`);
  return jobs;
};

/** `task jobs`, also known as `jobs list`. */
export const addJobList = (parent: Command, name: 'jobs' | 'list', session: Session): void => {
  const { use, lines, json, now, terminal } = session;
  withExample(
    parent
      .command(name)
      .description('list jobs of open tasks, newest task first; ended ones only with --all')
      .option('-a, --all', 'include jobs that succeeded, and jobs of ended tasks')
      .option('--dismiss-failures', 'hide jobs that failed, were cancelled or are blocked')
      .option('--run <task>', 'only jobs of this task', as(TaskId))
      .option('--limit <tasks>', 'number of tasks to read', wholeNumber(RUNS_MAX), RUNS)
      .option('--format <format>', `${FORMATS.join(', ')} (default: table)`, oneOf(FORMATS))
      .option('--json', 'print the jobs as JSON')
      .option(...RAW)
      .action((options: List) => {
        const display = readDisplay(session).jobs;
        const shown = options.format ?? display.format ?? 'table';
        const format = options.json ? 'json' : shown;
        checkRaw(options.raw, format === 'json');
        return use(async (client) => {
          const filter = {
            all: options.all === true || display.showSucceeded === true,
            dismissFailures: options.dismissFailures === true,
            ofTask: options.run !== undefined,
          };
          const selection = select(await listJobs(client, options, session), filter);
          if (options.raw) json({ ...envelope(now()), jobs: selection.jobs.map((job) => rawJob(job)) });
          else if (format === 'json') json(listJson(selection, display));
          else if (format === 'table') lines(fitLines(listTable(selection), terminal()));
          else lines(listBlocks(selection, display));
          return undefined;
        });
      }),
    `${commandPath(parent)} ${name} --all --format table`,
    `${commandPath(parent)} ${name} --run t-4k2m9x1c7h0a`,
  );
};

type Show = TargetOptions & {
  readonly format?: Format;
  readonly brief?: true;
  readonly raw?: true;
  readonly json?: true;
};

const showJobs = async (
  client: Client,
  found: readonly Job[],
  {
    format: wanted,
    raw,
    all,
  }: { readonly format: Format | 'json' | undefined; readonly raw: true | undefined; readonly all: boolean },
  session: Session,
): Promise<void> => {
  const { lines, json, now } = session;
  const display = readDisplay(session).jobsShow;
  const format = wanted ?? display.format ?? 'block';
  const first = found[0];
  const history =
    first === undefined ? [] : (await client.call('orchestrator', 'history', { id: first.run.id })).events;
  const timed = found.map((job) => ({ job, timeline: timelineOf(history, job.node.id) }));
  if (raw) {
    const items = timed.map(({ job, timeline }) => rawJob(job, timeline));
    json({ ...envelope(now()), ...(all ? { jobs: items } : { job: items[0] }) });
    return;
  }
  const records = [];
  for (const { job, timeline } of timed) {
    const approval = await findApproval(client, job.node.approval);
    records.push({ job, record: chosenFields(showRecord(job, timeline, approval), display) });
  }
  if (format === 'json') json(all ? { jobs: records.map(({ record }) => record) } : records[0]?.record);
  else
    lines(records.flatMap(({ job, record }, i) => [...(i === 0 ? [] : ['']), ...recordLines(record, job)]));
};

const showTask = async (
  client: Client,
  id: TaskId,
  asJson: boolean,
  { lines, json }: Session,
): Promise<void> => {
  const answer = await client.call('orchestrator', 'get', { id });
  if (asJson) json(answer);
  else lines(taskText(answer));
};

const showStatus = async (
  client: Client,
  name: JobName,
  asJson: boolean,
  { lines, json }: Session,
): Promise<void> => {
  const { id, node } = await loadJob(client, name);
  const exit = node.exitCode === undefined ? '' : String(node.exitCode);
  const log = `HP_LOG:${subjects.log(name.task, name.node)}`;
  if (asJson) json({ job: id, status: node.job, exit_code: exit, stdout: log, stderr: log });
  else {
    const status = statusSpan(node.job);
    lines([[`${id} [`, status, `] exit=${exit === '' ? '-' : exit} stdout=${log} stderr=${log}`]]);
  }
};

/** `task show`, also known as `jobs show`. A task as the argument is shown as such; `--run` shows each of its jobs. */
export const addShow = (parent: Command, session: Session): void => {
  const path = commandPath(parent);
  withExample(
    parent
      .command('show')
      .alias('get')
      .description('show a task with its nodes, or everything about one job')
      .argument('[target]', '<task>, or <task>/<node> for one job', targetName)
      .option('--run <task>', 'show every job of this task', as(TaskId))
      .option('--format <format>', `of jobs: ${FORMATS.join(', ')} (default: block)`, oneOf(FORMATS))
      .option('--brief', 'print the status, exit code and log subject of a job on one line')
      .option('--json', 'print the task as JSON, as the API returns it; of a job, its fields')
      .option(...RAW)
      .action((argument: Target | undefined, { format, brief, raw, json, ...options }: Show) => {
        const target = targetFrom(argument, options);
        const of: Format | 'json' | undefined = json ? 'json' : format;
        checkRaw(raw, of === 'json');
        const name = asJobName(target);
        if (brief === true && name === undefined)
          throw new UsageError('name the job for --brief as <task>/<node>');
        return session.use(async (client) => {
          if (brief === true && name !== undefined) await showStatus(client, name, json === true, session);
          else if (argument !== undefined && target.node === undefined)
            await showTask(client, target.task, of === 'json', session);
          else {
            const shown = { format: of, raw, all: argument === undefined };
            await showJobs(client, await loadTarget(client, target), shown, session);
          }
          return undefined;
        });
      }),
    `${path} show t-4k2m9x1c7h0a`,
    `${path} show t-4k2m9x1c7h0a/build --json`,
  );
};

/** `jobs status`: the same as `task show --brief`. */
export const addStatus = (parent: Command, session: Session): void => {
  withExample(
    parent
      .command('status')
      .description('print the status, exit code and log subject of a job on one line: `show --brief`')
      .argument('<job>', '<task>/<node>', jobName)
      .option('--json', 'print the fields as JSON')
      .action((name: JobName, { json }: { json?: true }) =>
        session.use(async (client) => {
          await showStatus(client, name, json === true, session);
          return undefined;
        }),
      ),
    `${commandPath(parent)} status t-4k2m9x1c7h0a/build`,
  );
};
