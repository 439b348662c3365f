import type { ApiRequest } from '@holdpoint/contracts/catalog/api';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { SubmitTask } from '@holdpoint/contracts/task/commands';
import { orderedUuid, TaskId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { TaskPhase } from '@holdpoint/contracts/task/status';
import type { Command } from 'commander';
import type { Client } from '../bus/client.ts';
import { as, collect, collectInput, goalText, moment, wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { loadTask } from '../job/job.ts';
import { personLines } from '../job/person.ts';
import { followTask, taskSource } from './follow.ts';
import type { Session } from '../kit/session.ts';
import { entryText, exitCodeFor, taskListText } from './text.ts';
import { addJobList, addShow } from './reading.ts';
import { addTail } from './logs.ts';
import { addReview } from './review.ts';
import { addSchedule } from './schedule.ts';
import { addCancel, addFork, addPause, addResume, addRetry, addSkip } from './steering.ts';

const LIST_MAX = 500;
const SUBMIT_EXAMPLE =
  'task submit --workflow sample --goal "Greet the reader" --input file=a.txt --input line=hello';

type Submission = {
  readonly workflow: string;
  readonly goal: string;
  readonly input?: JsonObject;
  readonly criterion?: readonly string[];
  readonly id?: TaskId;
  readonly follow?: true;
  readonly json?: true;
};

/** Prints the events of a task until it ends or is paused. Resolves to the exit code. */
const follow = async (
  client: Client,
  id: TaskId,
  asJson: true | undefined,
  { lines, json, warn }: Session,
): Promise<number> => {
  const show = (entry: HistoryEntry): void => (asJson ? json(entry) : lines([entryText(entry)]));
  const phase = await followTask(taskSource(client, id), show);
  if (phase === 'paused') for (const line of personLines(await loadTask(client, id))) warn(line);
  return exitCodeFor(phase);
};

const addSubmit = (task: Command, session: Session): void => {
  const { use, lines, json } = session;
  withExample(
    task
      .command('submit')
      .description('submit a task: run a workflow for a goal')
      .requiredOption('--workflow <id[@version]>', 'workflow to run', as(SubmitTask.shape.workflow))
      .requiredOption('--goal <text>', 'goal of the task', goalText)
      .option(
        '--input <key=text>',
        'input of the workflow; key:=json for values other than text (repeatable)',
        collectInput,
      )
      .option('--criterion <text>', 'acceptance criterion (repeatable)', collect)
      .option('--id <id>', 'task ID; submitting the same ID again returns the same task', as(TaskId))
      .option('--follow', 'then print the events of the task, as task watch does, and end with its exit code')
      .option('--json', 'print the API response as JSON; with --follow, then one JSON object per event')
      .action(({ workflow, goal, input, criterion, id, follow: isFollowed, json: asJson }: Submission) =>
        use(async (client) => {
          const inputs = input && { inputs: input };
          const criteria = criterion && { acceptanceCriteria: [...criterion] };
          const request = { workflow, goal, ...inputs, ...criteria, ...(id && { id }) };
          const answer = await client.call('orchestrator', 'submit', request, { requestId: orderedUuid() });
          if (asJson) json(answer);
          else lines([`task ${answer.id} is ${answer.phase}`]);
          return isFollowed ? follow(client, answer.id, asJson, session) : undefined;
        }),
      ),
    SUBMIT_EXAMPLE,
    'task submit --workflow sample --goal "Greet the reader" --input line=hello --follow',
  );
};

type Listing = ApiRequest<'orchestrator', 'list'> & { readonly json?: true };

const addList = (task: Command, { use, lines, json, terminal }: Session): void => {
  withExample(
    task
      .command('list')
      .description('list tasks, newest first')
      .option('--phase <phase>', `only tasks in this phase: ${TaskPhase.options.join(', ')}`, as(TaskPhase))
      .option('--workflow <id[@version]>', 'only tasks of this workflow')
      .option('--requested-by <name>', 'only tasks requested by this user')
      .option('--created-after <time>', 'only tasks submitted at or after this time', moment)
      .option('--created-before <time>', 'only tasks submitted before this time', moment)
      .option('--search <words>', 'full-text search in goal, ID and workflow; the last word may be a prefix')
      .option('--limit <number>', 'maximum number of tasks', wholeNumber(LIST_MAX))
      .option('--after <cursor>', 'continue after this cursor, printed by an earlier list')
      .option('--json', 'print the API response as JSON')
      .action(({ json: asJson, ...page }: Listing) =>
        use(async (client) => {
          const answer = await client.call('orchestrator', 'list', page);
          if (asJson) json(answer);
          else lines(taskListText(answer, terminal()));
          return undefined;
        }),
      ),
    'task list --phase awaiting_approval',
    'task list --workflow draft --created-after 2026-01-15 --search "release notes"',
  );
};

const addWatch = (task: Command, session: Session): void => {
  withExample(
    task
      .command('watch')
      .description(
        'print the events of a task until it ends (exit code 0 completed, 1 failed or cancelled) or is paused (10)',
      )
      .argument('<task>', 'task ID', as(TaskId))
      .option('--json', 'print one JSON object per event')
      .action((id: TaskId, options: { json?: true }) =>
        session.use((client) => follow(client, id, options.json, session)),
      ),
    'task watch t-4k2m9x1c7h0a',
  );
};

export const addTask = (program: Command, session: Session): void => {
  const task = withExample(
    program
      .command('task')
      .alias('tasks')
      .description('submit, watch and control tasks; <task>/<node> names one job of a task'),
    SUBMIT_EXAMPLE,
    'task show t-4k2m9x1c7h0a/build',
  );
  addSubmit(task, session);
  addList(task, session);
  addShow(task, session);
  addWatch(task, session);
  addJobList(task, 'jobs', session);
  addSchedule(task, session);
  addReview(task, session);
  addTail(task, session);
  for (const add of [addCancel, addPause, addResume, addRetry, addSkip, addFork]) add(task, session);
};
