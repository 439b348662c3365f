import { randomUUID } from 'node:crypto';
import type { ApiRequest, HistoryEntry } from '@holdpoint/contracts/catalog/catalog';
import { TaskId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { TaskPhase } from '@holdpoint/contracts/task/task';
import type { Command } from 'commander';
import { as, collect, collectInput, moment, wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { followTask, taskSource } from './follow.ts';
import type { Session } from '../kit/session.ts';
import { entryText, exitCodeFor, taskListText, taskText } from './text.ts';
import { addTaskSteering } from './steering.ts';

const LIST_MAX = 500;

type Submission = {
  readonly workflow: string;
  readonly goal: string;
  readonly input?: JsonObject;
  readonly criterion?: readonly string[];
  readonly id?: TaskId;
  readonly json?: true;
};

const addSubmit = (task: Command, { use, lines, json }: Session): void => {
  withExample(
    task
      .command('submit')
      .description('run a workflow on a goal')
      .requiredOption('--workflow <id[@version]>', 'which workflow')
      .requiredOption('--goal <text>', 'what is to be reached')
      .option(
        '--input <key=text>',
        'one input of the workflow; key:=json for anything but text (repeatable)',
        collectInput,
      )
      .option('--criterion <text>', 'how to tell that the goal is reached (repeatable)', collect)
      .option('--id <id>', 'the id of the task, so that submitting again finds the same one', as(TaskId))
      .option('--json', 'print the answer as it came')
      .action(({ workflow, goal, input, criterion, id, json: asJson }: Submission) =>
        use(async (client) => {
          const inputs = input && { inputs: input };
          const criteria = criterion && { acceptanceCriteria: [...criterion] };
          const request = { workflow, goal, ...inputs, ...criteria, ...(id && { id }) };
          const answer = await client.call('orchestrator', 'submit', request, { requestId: randomUUID() });
          if (asJson) json(answer);
          else lines([`task ${answer.id} is ${answer.phase}`]);
          return undefined;
        }),
      ),
    'task submit --workflow sample --goal "Greet the reader" --input file=a.txt --input line=hello',
  );
};

type Listing = ApiRequest<'orchestrator', 'list'> & { readonly json?: true };

const addReading = (task: Command, { use, lines, json }: Session): void => {
  withExample(
    task
      .command('get')
      .description('show one task with its nodes')
      .argument('<id>', 'id of the task', as(TaskId))
      .option('--json', 'print the answer as it came')
      .action((id: TaskId, options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('orchestrator', 'get', { id });
          if (options.json) json(answer);
          else lines(taskText(answer));
          return undefined;
        }),
      ),
    'task get t-4k2m9x1c7h0a',
  );
  withExample(
    task
      .command('list')
      .description('list tasks, the latest submission first')
      .option('--phase <phase>', `only those in this phase: ${TaskPhase.options.join(', ')}`, as(TaskPhase))
      .option('--workflow <id[@version]>', 'only those of this workflow')
      .option('--requested-by <name>', 'only those that this person has asked for')
      .option('--created-after <time>', 'only those submitted then or later', moment)
      .option('--created-before <time>', 'only those submitted before', moment)
      .option(
        '--search <words>',
        'only those with these words in goal, id or workflow; the last may be begun',
      )
      .option('--limit <number>', 'how many', wholeNumber(LIST_MAX))
      .option('--after <place>', 'go on where an earlier list ended')
      .option('--json', 'print the answer as it came')
      .action(({ json: asJson, ...page }: Listing) =>
        use(async (client) => {
          const answer = await client.call('orchestrator', 'list', page);
          if (asJson) json(answer);
          else lines(taskListText(answer));
          return undefined;
        }),
      ),
    'task list --phase awaiting_approval',
    'task list --workflow draft --created-after 2026-01-15 --search "release notes"',
  );
};

const addWatch = (task: Command, { use, lines, json }: Session): void => {
  withExample(
    task
      .command('watch')
      .description(
        'print what happens to a task until it ends (0 completed, 1 failed or cancelled) or waits for a person to resume it (10)',
      )
      .argument('<id>', 'id of the task', as(TaskId))
      .option('--json', 'one JSON object for each event')
      .action((id: TaskId, options: { json?: true }) =>
        use(async (client) => {
          const show = (entry: HistoryEntry): void =>
            options.json ? json(entry) : lines([entryText(entry)]);
          return exitCodeFor(await followTask(taskSource(client, id), show));
        }),
      ),
    'task watch t-4k2m9x1c7h0a',
  );
};

export const addTask = (program: Command, session: Session): void => {
  const task = withExample(
    program.command('task').description('submit, watch and steer tasks'),
    'task submit --workflow sample --goal "Greet the reader" --input file=a.txt --input line=hello',
  );
  addSubmit(task, session);
  addReading(task, session);
  addWatch(task, session);
  addTaskSteering(task, session);
};
