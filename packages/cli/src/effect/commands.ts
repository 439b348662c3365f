import { DoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { EffectId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Command } from 'commander';
import { as, oneOf } from '../kit/arguments.ts';
import { columns } from '../output/columns.ts';
import { decidedText, decideOn, questionAbout } from '../approval/decisions.ts';
import { effectText } from './text.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';

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
  withExample(
    effects
      .command('show')
      .description('show one effect as the ledger has it')
      .argument('<effect>', 'id of the effect', as(EffectId))
      .option('--json', 'print the answer as it came')
      .action((id: EffectId, options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('executor', 'get', { id });
          if (options.json) json(answer);
          else lines(effectText(answer));
          return undefined;
        }),
      ),
    'effects show e-7h2k9m1x4c0a5b3d',
  );
  withExample(
    effects
      .command('resolve')
      .description('say what became of an effect that nobody can be sure of')
      .argument('<effect>', 'id of the effect', as(EffectId))
      .argument('<answer>', DoubtAnswer.options.join(', '), oneOf(DoubtAnswer.options))
      .option('--comment <text>', 'how you know, for the record')
      .option('--json', 'print the answer as it came')
      .action((id: EffectId, answer: DoubtAnswer, options: { comment?: string; json?: true }) =>
        use(async (client) => {
          const asked = await questionAbout(client, id);
          const decided = await decideOn(client, asked, answer, options);
          if (options.json) json(decided);
          else lines(decidedText(asked, decided, `answered with ${answer}`));
          return undefined;
        }),
      ),
    'effects resolve e-7h2k9m1x4c0a5b3d not_applied --comment "it is not there"',
  );
};
