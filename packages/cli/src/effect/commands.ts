import type { EffectView } from '@holdpoint/contracts/effect/views';
import { columns, listing } from '../output/columns.ts';
import { printableLines } from '../output/printable.ts';
import { EffectId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Command } from 'commander';
import { as } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { addUndo } from './undo.ts';

const NEXT: Readonly<Record<NonNullable<EffectView['next']>, string>> = {
  repeat: 'retry automatically',
  probe: 'probe the target',
  person: 'an operator answers',
};

const effectText = (effect: EffectView): readonly string[] => {
  const {
    id,
    task,
    node,
    state,
    epoch,
    starts,
    duplicatesPrevented: prevented = 0,
    uses,
    target,
    effectClass,
  } = effect;
  const { reason, next, cause, deferredReason: waits, answer, answeredBy, idempotencyKey, digest } = effect;
  const rows: (readonly string[])[] = [
    ['effect', id],
    ['task', `${task}/${node}`],
    ...(uses === undefined ? [] : [['what', `${uses} on ${target ?? '?'}, ${effectClass ?? '?'}`]]),
    ['state', `${state.replace('_', ' ')} (epoch ${String(epoch)}, started ${String(starts)}x)`],
    ...printableLines(reason ?? '').flatMap((line, i) =>
      line === '' ? [] : [[i === 0 ? 'reason' : '', line]],
    ),
    ...(cause === undefined ? [] : [['cause', cause.replaceAll('_', ' ')]]),
    ...(next === undefined ? [] : [['next', NEXT[next]]]),
    ...(waits === undefined ? [] : [['waits', waits]]),
    ...(prevented === 0 ? [] : [['prevented', `${String(prevented)} duplicates`]]),
    ...(answer === undefined ? [] : [['answer', `${answer} by ${answeredBy ?? 'unknown'}`]]),
    ['key', idempotencyKey],
    ['digest', digest],
  ];
  return columns(rows);
};

export const addEffect = (program: Command, session: Session): void => {
  const { use, lines, json } = session;
  const effect = withExample(
    program.command('effect').alias('effects').description('list, show and undo effects'),
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
  addUndo(effect, session);
};
