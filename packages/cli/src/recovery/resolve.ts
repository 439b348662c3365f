import { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Command } from 'commander';
import { collectInput, oneOf } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import { jobName, type JobName } from '../job/target.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';

type Resolve = {
  readonly reason?: string;
  readonly by?: string;
  readonly output?: JsonObject;
  readonly json?: true;
};

export const addResolve = (recovery: Command, { use, lines, json }: Session): void => {
  withExample(
    recovery
      .command('resolve')
      .description('resolve a stuck job: retry it, skip it, mark it as done, or cancel it')
      .argument('<job>', '<task>/<node>', jobName)
      .argument('<how>', StuckAnswer.options.join(', '), oneOf(StuckAnswer.options))
      .option('--reason <text>', 'reason, kept in the record')
      .option('--by <name>', 'name of the operator, kept in the record')
      .option(
        '--output <key=text>',
        'with done: output for the next jobs; key:=json for values other than text (repeatable)',
        collectInput,
      )
      .option('--json', 'print the API response as JSON')
      .action(({ task, node, id }: JobName, how: StuckAnswer, options: Resolve) => {
        const { reason, by, output } = options;
        if (output !== undefined && how !== 'done') throw new UsageError('--output needs the answer done');
        return use(async (client) => {
          const answer = await client.call('orchestrator', how, {
            id: task,
            node,
            ...(reason !== undefined && { reason }),
            ...(by !== undefined && { by }),
            ...(output !== undefined && { outputs: output }),
          });
          if (options.json) json(answer);
          else lines([`${id}: ${how} recorded, the task is ${answer.phase}`]);
          return undefined;
        });
      }),
    'recovery resolve t-4k2m9x1c7h0a/build retry --reason "the registry is back"',
    'recovery resolve t-4k2m9x1c7h0a/build done --output digest=sha256:4f2a',
  );
};
