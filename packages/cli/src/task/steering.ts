import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Command } from 'commander';
import { as, wholeNumber } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';

/** More than anybody will ever make. */
const ATTEMPTS_MAX = 1_000_000;
const VERSION_MAX = Number.MAX_SAFE_INTEGER;

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
  readonly rewind?: true;
};

const ID = 't-4k2m9x1c7h0a';

const commandOn = (task: Command, name: string, description: string): Command =>
  task
    .command(name)
    .description(description)
    .argument('<id>', 'id of the task', as(TaskId))
    .option('--reason <text>', 'why, for the record')
    .option('--json', 'print the answer as it came');

const addVerb = (task: Command, { use, lines, json }: Session, verb: Verb, description: string): void => {
  const command = commandOn(task, verb, description).option('--node <id>', 'only this node', as(NodeId));
  if (verb === 'retry') {
    command.option(
      '--attempt <number>',
      'only what waits after this attempt; nothing happens once another has followed it',
      wholeNumber(ATTEMPTS_MAX),
    );
    command.option('--rewind', 'start the node and all that is downstream of it anew, however it ended');
  }
  withExample(
    command.action((id: TaskId, { json: asJson, ...rest }: Steering) =>
      use(async (client) => {
        const answer = await client.call('orchestrator', verb, { id, ...rest });
        if (asJson) json(answer);
        else lines([`task ${answer.id} is ${answer.phase}`]);
        return undefined;
      }),
    ),
    `task ${verb} ${ID}`,
    `task ${verb} ${ID} --node build`,
  );
};

const addSkip = (task: Command, { use, lines, json }: Session): void => {
  withExample(
    commandOn(task, 'skip', 'leave a node out that has not started or has failed; what follows it goes on')
      .requiredOption('--node <id>', 'which node', as(NodeId))
      .action((id: TaskId, { json: asJson, node, reason }: Steering & { readonly node: NodeId }) =>
        use(async (client) => {
          const why = reason !== undefined && { reason };
          const answer = await client.call('orchestrator', 'skip', { id, node, ...why });
          if (asJson) json(answer);
          else lines([`task ${answer.id} is ${answer.phase}`]);
          return undefined;
        }),
      ),
    `task skip ${ID} --node review`,
  );
};

type Fork = { readonly version: number; readonly id?: TaskId; readonly json?: true };

const addFork = (task: Command, { use, lines, json }: Session): void => {
  withExample(
    task
      .command('fork')
      .description('start a new task from a version of another: what had ended by then is carried over')
      .argument('<id>', 'id of the task', as(TaskId))
      .requiredOption(
        '--version <number>',
        'which version, as `task watch` numbers them',
        wholeNumber(VERSION_MAX),
      )
      .option('--id <id>', 'the id of the new task', as(TaskId))
      .option('--json', 'print the answer as it came')
      .action((origin: TaskId, { version, id, json: asJson }: Fork) =>
        use(async (client) => {
          const named = id !== undefined && { id };
          const answer = await client.call('orchestrator', 'fork', { task: origin, version, ...named });
          if (asJson) json(answer);
          else
            lines([
              `task ${answer.id} is ${answer.phase}, forked from version ${String(version)} of ${origin}`,
            ]);
          return undefined;
        }),
      ),
    `task fork ${ID} --version 12`,
  );
};

export const addTaskSteering = (task: Command, session: Session): void => {
  for (const [verb, description] of VERBS) addVerb(task, session, verb, description);
  addSkip(task, session);
  addFork(task, session);
};
