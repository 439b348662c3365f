import { randomUUID } from 'node:crypto';
import type { HistoryEntry } from '@holdpoint/contracts/catalog';
import { NodeId, TaskId } from '@holdpoint/contracts/ids';
import type { JsonObject } from '@holdpoint/contracts/json';
import { TaskPhase } from '@holdpoint/contracts/task';
import type { Command } from 'commander';
import { as, collect, collectInput, wholeNumber } from '../arguments.ts';
import { followTask, taskSource } from '../follow-task.ts';
import type { Session } from '../program.ts';
import { entryText, exitCodeFor, taskListText, taskText } from '../task-text.ts';

const LIST_MAX = 500;
/** More than anybody will ever make. */
const ATTEMPTS_MAX = 1_000_000;

type Submission = {
  readonly workflow: string;
  readonly goal: string;
  readonly input?: JsonObject;
  readonly criterion?: readonly string[];
  readonly id?: TaskId;
  readonly json?: true;
};

const addSubmit = (task: Command, { use, lines, json }: Session): void => {
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
    );
};

const addReading = (task: Command, { use, lines, json }: Session): void => {
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
    );
  task
    .command('list')
    .description('list tasks, latest change first')
    .option('--phase <phase>', `only those in this phase: ${TaskPhase.options.join(', ')}`, as(TaskPhase))
    .option('--limit <number>', 'how many', wholeNumber(LIST_MAX))
    .option('--after <place>', 'go on where an earlier list ended')
    .option('--json', 'print the answer as it came')
    .action(({ json: asJson, ...page }: { json?: true; phase?: TaskPhase; limit?: number; after?: string }) =>
      use(async (client) => {
        const answer = await client.call('orchestrator', 'list', page);
        if (asJson) json(answer);
        else lines(taskListText(answer));
        return undefined;
      }),
    );
};

const addWatch = (task: Command, { use, lines, json }: Session): void => {
  task
    .command('watch')
    .description(
      'print what happens to a task until it ends (0 completed, 1 failed or cancelled) or waits for a person to resume it (10)',
    )
    .argument('<id>', 'id of the task', as(TaskId))
    .option('--json', 'one JSON object for each event')
    .action((id: TaskId, options: { json?: true }) =>
      use(async (client) => {
        const show = (entry: HistoryEntry): void => (options.json ? json(entry) : lines([entryText(entry)]));
        return exitCodeFor(await followTask(taskSource(client, id), show));
      }),
    );
};

const VERBS = [
  ['cancel', 'end a task; an effect that has started is not taken back'],
  ['pause', 'start nothing new until the task is resumed'],
  ['resume', 'go on with a paused task'],
  ['retry', 'give failed or escalated nodes another attempt'],
] as const;

type Verb = (typeof VERBS)[number][0];

type Steering = {
  readonly json?: true;
  readonly reason?: string;
  readonly node?: NodeId;
  readonly attempt?: number;
};

const addVerb = (task: Command, { use, lines, json }: Session, verb: Verb, description: string): void => {
  const command = task
    .command(verb)
    .description(description)
    .argument('<id>', 'id of the task', as(TaskId))
    .option('--reason <text>', 'why, for the record')
    .option('--json', 'print the answer as it came');
  if (verb === 'retry') {
    command.option('--node <id>', 'only this node', as(NodeId));
    command.option(
      '--attempt <number>',
      'only what waits after this attempt; nothing happens once another has followed it',
      wholeNumber(ATTEMPTS_MAX),
    );
  }
  command.action((id: TaskId, { json: asJson, ...rest }: Steering) =>
    use(async (client) => {
      const answer = await client.call('orchestrator', verb, { id, ...rest });
      if (asJson) json(answer);
      else lines([`task ${answer.id} is ${answer.phase}`]);
      return undefined;
    }),
  );
};

export const addTask = (program: Command, session: Session): void => {
  const task = program.command('task').description('submit, watch and steer tasks');
  addSubmit(task, session);
  addReading(task, session);
  addWatch(task, session);
  for (const [verb, description] of VERBS) addVerb(task, session, verb, description);
};
