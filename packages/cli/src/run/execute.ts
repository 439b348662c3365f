import { basename, extname } from 'node:path';
import type { Client } from '../bus/client.ts';
import { shorten } from '../output/columns.ts';
import { EXIT } from '../kit/failure.ts';
import { watchRun } from '../job/watch-run.ts';
import { loadTask } from '../job/job.ts';
import { taskSource } from '../task/follow.ts';
import type { Session } from '../kit/session.ts';
import { checkAfter, resolveAfter, sinkJobs } from './after.ts';
import type { Item, Runs } from '../workflow/batch.ts';
import { followRun } from './follow.ts';
import {
  enqueuedJson,
  enqueuedLines,
  type SubmittedRun,
  exitOfRun,
  manyEnqueuedJson,
  manyTerminalJson,
  terminalJson,
  terminalLines,
} from './outcome.ts';
import type { WorkflowLocation } from '../workflow/location.ts';
import type { LoadedWorkflow } from '../workflow/prepare.ts';
import { createProgress } from './progress.ts';
import { idOf, type Submission, submitRun } from './submit.ts';
import { createPendingNotices } from './waiting.ts';

export type Order = {
  readonly location: WorkflowLocation;
  readonly workflow: LoadedWorkflow;
  readonly runs: Runs;
  readonly after: readonly string[];
  readonly approval?: 'required' | 'none' | undefined;
  readonly goal?: string | undefined;
  readonly criteria?: readonly string[] | undefined;
  readonly id?: string | undefined;
  readonly follow: boolean;
  readonly json: boolean;
};

const GOAL_MAX = 100_000;

/** Characters of an input in the default goal: it becomes the title of requests. */
const INPUT_SHOWN = 60;

/** A template as people call it: its alias, or the name of its file. */
const nameOf = ({ alias, selector }: Order['workflow']['found']): string =>
  alias ?? (selector.startsWith('file:') ? basename(selector, extname(selector)) : selector);

const goalOf = ({ goal, workflow }: Order, { params }: Item): string => {
  if (goal !== undefined) return goal;
  const name = nameOf(workflow.found);
  if (params['slug']) return `${name}: ${params['slug']}`.slice(0, GOAL_MAX);
  const inputs = Object.entries(params).filter(
    ([input, value]) => value !== '' && value !== workflow.template.params.get(input),
  );
  return [name, ...inputs.map(([input, value]) => `${input}=${shorten(value, INPUT_SHOWN)}`)]
    .join(' ')
    .slice(0, GOAL_MAX);
};

const submissionOf = (order: Order, item: Item, index: number, after: readonly string[]): Submission => {
  const { location, workflow, approval, runs, criteria } = order;
  const { alias, selector } = workflow.found;
  const id = idOf(order.id, index, runs.items.length);
  return {
    workflow: alias ?? selector,
    definition: item.definition,
    repository: location.root,
    goal: goalOf(order, item),
    ...(criteria !== undefined && { acceptanceCriteria: [...criteria] }),
    inputs: item.params,
    ...(after.length > 0 && { after: [...after] }),
    ...(approval !== undefined && { approval }),
    ...(id !== undefined && { id }),
  };
};

const templateOf = ({ workflow: { found, template } }: Order): SubmittedRun['template'] => ({
  selector: found.selector,
  id: template.id,
  version: template.version,
});

/**
 * Submits all runs, each after the last jobs of the previous one. Checks dependencies before the first submission.
 */
const submitAll = async (client: Client, order: Order): Promise<readonly SubmittedRun[]> => {
  const outside = await resolveAfter(client, order.after);
  const enqueued: SubmittedRun[] = [];
  for (const [index, item] of order.runs.items.entries()) {
    const before = enqueued.at(-1);
    const after = before === undefined ? outside : checkAfter([...outside, ...sinkJobs(before.run)]);
    const run = await submitRun(client, submissionOf(order, item, index, after));
    enqueued.push({ run, template: templateOf(order), item: item.item });
  }
  return enqueued;
};

const followOne = async (
  client: Client,
  enqueued: SubmittedRun,
  session: Session,
  json: boolean,
): Promise<SubmittedRun> => {
  const { id } = enqueued.run;
  const { history } = taskSource(client, id);
  const logs = client.logs(id);
  const progress = json ? undefined : createProgress({ logs, history }, session.lines);
  const atDesk = createPendingNotices(client, session, json);
  const run = await followRun(
    { load: () => loadTask(client, id), watch: (onChange) => watchRun(client, id, onChange) },
    {
      onLoad: (now) => progress?.onLoad(now),
      onStatus: (node, now) => progress?.onStatus(node, now),
      onRead: atDesk,
    },
  );
  await progress?.finish(run);
  return { ...enqueued, run };
};

/** Follows the runs in order, until one does not succeed. */
const followAll = async (
  client: Client,
  order: Order,
  enqueued: readonly SubmittedRun[],
  session: Session,
) => {
  const ended: SubmittedRun[] = [];
  for (const each of enqueued) {
    const now = await followOne(client, each, session, order.json);
    ended.push(now);
    if (!order.json) session.lines(terminalLines(now));
    if (exitOfRun(now.run) !== EXIT.ok) break;
  }
  return ended;
};

/** Submits the runs of a command line and follows them on request. Resolves to the exit code. */
export const execute = async (client: Client, order: Order, session: Session): Promise<number> => {
  const { json, runs, follow } = order;
  const enqueued = await submitAll(client, order);
  const [first] = enqueued;
  if (!follow || !json) {
    if (!json) for (const each of enqueued) session.lines(enqueuedLines(each));
    else if (runs.batch !== undefined) session.json(manyEnqueuedJson(runs.batch, enqueued));
    else if (first !== undefined) session.json(enqueuedJson(first));
  }
  if (!follow) return EXIT.ok;
  const ended = await followAll(client, order, enqueued, session);
  const last = ended.at(-1);
  if (json && runs.batch !== undefined)
    session.json(manyTerminalJson(runs.batch, ended, enqueued.slice(ended.length)));
  else if (json && last !== undefined) session.json(terminalJson(last));
  return last === undefined ? EXIT.ok : exitOfRun(last.run);
};
