import { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { EffectId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Command } from 'commander';
import { as, oneOf } from '../kit/arguments.ts';
import { listing } from '../output/columns.ts';
import { decidedText, decideOn, findInDoubtQuestion } from '../approval/decisions.ts';
import { effectText } from './text.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { addUndo } from './undo.ts';

export const addEffect = (program: Command, session: Session): void => {
  const { use, lines, json } = session;
  const effect = withExample(
    program.command('effect').alias('effects').description('list, show, resolve and undo effects'),
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
      .description('show an effect, as recorded in the ledger')
      .argument('<effect>', 'effect ID', as(EffectId))
      .option('--json', 'print the API response as JSON')
      .action((id: EffectId, options: { json?: true }) =>
        use(async (client) => {
          const answer = await client.call('executor', 'get', { id });
          if (options.json) json(answer);
          else lines(effectText(answer));
          return undefined;
        }),
      ),
    'effect show e-7h2k9m1x4c0a5b3d',
  );
  withExample(
    effect
      .command('resolve')
      .description('answer whether an in-doubt effect was applied')
      .argument('<effect>', 'effect ID', as(EffectId))
      .argument('<answer>', InDoubtAnswer.options.join(', '), oneOf(InDoubtAnswer.options))
      .option('--comment <text>', 'how you know, kept in the record')
      .option('--json', 'print the API response as JSON')
      .action((id: EffectId, answer: InDoubtAnswer, options: { comment?: string; json?: true }) =>
        use(async (client) => {
          const question = await findInDoubtQuestion(client, id);
          const decided = await decideOn(client, question, answer, options);
          if (options.json) json(decided);
          else lines(decidedText(question, decided, `answered with ${answer}`));
          return undefined;
        }),
      ),
    'effect resolve e-7h2k9m1x4c0a5b3d not_applied --comment "it is not there"',
  );
  addUndo(effect, session);
};
