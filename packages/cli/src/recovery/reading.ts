import { reportCommand } from '@holdpoint/contracts/approval/question';
import { jobOf } from '@holdpoint/contracts/values/ids';
import type { StuckJob } from '@holdpoint/contracts/recovery/views';
import type { Command } from 'commander';
import { instant, shorten } from '../output/columns.ts';
import { everyPage } from '../bus/every-page.ts';
import type { Client } from '../bus/client.ts';
import { withExample } from '../kit/example.ts';
import type { Line } from '../output/painted.ts';
import { historyJson, historyLines } from './history.ts';
import { jobName, type JobName, type Target, targetName } from '../job/target.ts';
import { resolveCommand } from './stuck.ts';
import type { Session } from '../kit/session.ts';
import { withoutMarkdown } from '../output/printable.ts';
import { table } from '../output/table.ts';

const addHistory = (recovery: Command, { use, lines, json }: Session): void => {
  withExample(
    recovery
      .command('history')
      .description('show every attempt of a task or of one of its jobs, oldest first')
      .argument('<target>', '<task>, or <task>/<node> for one job', targetName)
      .option('--json', 'print the attempts as JSON')
      .action((target: Target, options: { json?: true }) =>
        use(async (client) => {
          const history = await client.call('recovery', 'history', target);
          if (options.json) json(historyJson(target, history));
          else lines(historyLines(target, history));
          return undefined;
        }),
      ),
    'recovery history t-4k2m9x1c7h0a/build',
    'recovery history t-4k2m9x1c7h0a --json',
  );
};

const PAGES_MAX = 20;
const REASON_SHOWN = 100;
const GOAL_SHOWN = 60;

const stuckLines = (items: readonly StuckJob[]): readonly Line[] => {
  if (items.length === 0) return ['no jobs are stuck'];
  const rows = items.map(({ task, node, class: failure, reason, since, attempts, goal = '' }) => [
    jobOf(task, node),
    failure,
    instant(since),
    String(attempts),
    shorten(reason, REASON_SHOWN),
    shorten(goal, GOAL_SHOWN),
  ]);
  return [
    ...table(['Job', 'Class', 'Since', 'Attempts', 'Reason', 'Goal'], rows),
    `details: ${reportCommand('<job>')}; then ${resolveCommand('<job>')}`,
  ];
};

const listStuck = async (client: Client, asJson: boolean, { lines, json }: Session): Promise<void> => {
  const items = await everyPage(PAGES_MAX, (cursor) => client.call('recovery', 'stuck', cursor));
  if (asJson) json({ items });
  else lines(stuckLines(items));
};

const printReport = async (
  client: Client,
  { task, node, id }: JobName,
  asJson: boolean,
  { lines, json, warn, terminal }: Session,
): Promise<void> => {
  const answer = await client.call('recovery', 'report', { task, node });
  if (asJson) return json(answer);
  const report = answer.report.trimEnd().split(/\r?\n/);
  // A file or a program gets the Markdown.
  lines(terminal() === undefined ? report : report.map(withoutMarkdown));
  if (!answer.stuck) warn(`${id} is no longer stuck`);
  return undefined;
};

const addReport = (recovery: Command, session: Session): void => {
  withExample(
    recovery
      .command('report')
      .alias('stuck')
      .description('list the jobs that recovery gave up, or print the report of one as Markdown')
      .argument('[job]', '<task>/<node>', jobName)
      .option('--json', 'print the jobs, or the API response, as JSON')
      .action((job: JobName | undefined, options: { json?: true }) =>
        session.use(async (client) => {
          const asJson = options.json === true;
          await (job === undefined
            ? listStuck(client, asJson, session)
            : printReport(client, job, asJson, session));
          return undefined;
        }),
      ),
    'recovery report',
    'recovery report t-4k2m9x1c7h0a/build',
  );
};

export const addRecoveryReading = (recovery: Command, session: Session): void => {
  addHistory(recovery, session);
  addReport(recovery, session);
};
