import { TaskId } from '@holdpoint/contracts/ids';
import type { Command } from 'commander';
import { as } from '../arguments.ts';
import { columns } from '../columns.ts';
import { withExample } from '../example.ts';
import type { Session } from '../session.ts';

export const addEffects = (program: Command, { use, lines, json }: Session): void => {
  const effects = withExample(
    program.command('effects').description('see what was done to the world'),
    'effects list t-4k2m9x1c7h0a',
  );
  withExample(
    effects
      .command('list')
      .description('list the effects of one task, as the ledger has them')
      .argument('<task>', 'id of the task', as(TaskId))
      .option('--json', 'print the answer as it came')
      .action((task: TaskId, options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('executor', 'list', { task });
          if (options.json) json(answer);
          else if (answer.items.length === 0) lines(['no effects']);
          else
            lines(
              columns(
                answer.items.map(({ id, node, state, starts, idempotencyKey }) => [
                  id,
                  node,
                  state,
                  `started ${String(starts)}x`,
                  idempotencyKey,
                ]),
              ),
            );
          return undefined;
        }),
      ),
    'effects list t-4k2m9x1c7h0a',
  );
};
