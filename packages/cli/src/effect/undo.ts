import { randomUUID } from 'node:crypto';
import type { EffectOrder } from '@holdpoint/contracts/effect/views';
import { EffectId, TOKEN } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { UndoInputs } from '@holdpoint/contracts/effect/undo';
import type { Command } from 'commander';
import { z } from 'zod';
import { as } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { UsageError } from '../kit/usage-error.ts';

/** What the workflow is asked to take back. Throws `UsageError` when there is nothing that could. */
const inputsFor = (order: EffectOrder, named: string | undefined): UndoInputs => {
  const { id, state, effect, outputs, compensation, pool = named } = order;
  if (outputs === undefined)
    throw new UsageError(`${id} is ${state}: only what was applied can be taken back`);
  if (compensation === undefined)
    throw new UsageError(`${id} cannot be taken back: ${effect.uses} has nothing that would do it`);
  const { args, target } = effect;
  return {
    effect: id,
    ...compensation,
    args,
    outputs,
    target,
    ...(pool !== undefined && { pool: named ?? pool }),
  };
};

const Pool = z.string().regex(TOKEN, 'letters, digits, - and _');

export const addUndo = (program: Command, { use, lines, json }: Session): void => {
  withExample(
    program
      .command('undo')
      .description('take back an effect that was applied, as an effect that is approved like any other')
      .argument('<effect>', 'id of the effect', as(EffectId))
      .option('--pool <name>', 'the executors that can do it; those that did it, when left out', as(Pool))
      .option('--json', 'print the answer as it came')
      .action((id: EffectId, { pool, json: asJson }: { pool?: string; json?: true }) =>
        use(async (client) => {
          const inputs = inputsFor(await client.call('executor', 'order', { id }), pool);
          const request = { workflow: 'undo', goal: `take back ${id}`, inputs: inputs as JsonObject };
          const answer = await client.call('orchestrator', 'submit', request, { requestId: randomUUID() });
          if (asJson) json(answer);
          else
            lines([`task ${answer.id} is ${answer.phase}: it waits for somebody to approve ${inputs.uses}`]);
          return undefined;
        }),
      ),
    'undo e-74c6ad9rnk5b0qxm',
  );
};
