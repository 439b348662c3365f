import { listing } from '../output/columns.ts';
import { EffectId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Command } from 'commander';
import { as } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { effectText, recordsOf } from './show.ts';
import { addClaimants } from './claimants.ts';
import { addRequest } from './request.ts';
import { addUndo } from './undo.ts';

export const addEffect = (program: Command, session: Session): void => {
  const { use, lines, json } = session;
  const effect = withExample(
    program
      .command('effect')
      .alias('effects')
      .description('request, list, show and undo effects, and list the programs that claim them'),
    'effect list t-4k2m9x1c7h0a',
  );
  withExample(
    effect
      .command('list')
      .description('list the effects of a task, as recorded in the ledger')
      .argument('<task>', 'task ID', as(TaskId))
      .option('--json', 'print the API response as JSON')
      .action((task: TaskId, options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('executor', 'list', { task });
          // The ledger knows no tasks: the orchestrator refuses one that does not exist.
          if (answer.items.length === 0) await client.call('orchestrator', 'get', { id: task });
          if (options.json) json(answer);
          else if (answer.items.length === 0) lines(['no effects']);
          else
            lines(
              listing(
                ['Effect', 'Node', 'State', 'Starts', 'Key'],
                answer.items.map(({ id, node, state, starts, idempotencyKey }) => [
                  id,
                  node,
                  state,
                  String(starts),
                  idempotencyKey,
                ]),
              ),
            );
          return undefined;
        }),
      ),
    'effect list t-4k2m9x1c7h0a',
  );
  withExample(
    effect
      .command('show')
      .description('show an effect: state, approver, times and result')
      .argument('<effect>', 'effect ID', as(EffectId))
      .option('--json', 'print the API response as JSON')
      .action((id: EffectId, options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('executor', 'get', { id });
          if (options.json) json(answer);
          else lines(effectText(answer, await recordsOf(client, answer)));
          return undefined;
        }),
      ),
    'effect show e-7h2k9m1x4c0a5b3d',
  );
  addRequest(effect, session);
  addUndo(effect, session);
  addClaimants(effect, session);
};
