import { randomUUID } from 'node:crypto';
import { argumentProblems } from '@holdpoint/contracts/effect/arguments';
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

/** Inputs of the `undo` workflow. Throws `UsageError` for an effect that cannot be undone. */
const inputsFor = (order: EffectOrder, named: string | undefined): UndoInputs => {
  const { id, state, effect, outputs, compensation, pool = named } = order;
  if (outputs === undefined) throw new UsageError(`${id} is ${state}: only an applied effect can be undone`);
  if (compensation === undefined)
    throw new UsageError(`${id} cannot be undone: ${effect.uses} has no compensation`);
  const { args, target } = effect;
  if (argumentProblems(compensation.uses, { args }).length > 0)
    throw new UsageError(`${id} cannot be undone: it declared no compensate script; undo it by hand`);
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

export const addUndo = (effect: Command, { use, lines, json }: Session): void => {
  withExample(
    effect
      .command('undo')
      .description('revert an applied effect; the reverting effect needs its own approval')
      .argument('<effect>', 'effect ID', as(EffectId))
      .option('--pool <name>', 'executor pool that reverts it (default: the pool that applied it)', as(Pool))
      .option('--json', 'print the API response as JSON')
      .action((id: EffectId, { pool, json: asJson }: { pool?: string; json?: true }) =>
        use(async (client) => {
          const inputs = inputsFor(await client.call('executor', 'order', { id }), pool);
          const request = { workflow: 'undo', goal: `undo ${id}`, inputs: inputs as JsonObject };
          const answer = await client.call('orchestrator', 'submit', request, { requestId: randomUUID() });
          if (asJson) json(answer);
          else lines([`task ${answer.id} is ${answer.phase}: approve ${inputs.uses} to revert the effect`]);
          return undefined;
        }),
      ),
    'effect undo e-74c6ad9rnk5b0qxm',
  );
};
