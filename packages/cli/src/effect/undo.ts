import { argumentProblems } from '@holdpoint/contracts/effect/arguments';
import { compensationOf } from '@holdpoint/contracts/effect/capabilities';
import { remoteNameIn } from '@holdpoint/contracts/effect/remote-name';
import type { EffectOrder } from '@holdpoint/contracts/effect/views';
import { TOKEN } from '@holdpoint/contracts/bus/subjects';
import { EffectId, orderedUuid } from '@holdpoint/contracts/values/ids';
import { JsonObject } from '@holdpoint/contracts/values/json';
import type { UndoInputs } from '@holdpoint/contracts/effect/undo';
import type { TaskPhase } from '@holdpoint/contracts/task/status';
import type { Command } from 'commander';
import { z } from 'zod';
import { as } from '../kit/arguments.ts';
import type { Client } from '../bus/client.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { Refusal } from '../kit/refusal.ts';
import { UsageError } from '../kit/usage-error.ts';

/** The registry knows the compensation of a program of users. */
const remoteCompensation = async (
  client: Client,
  { effect }: EffectOrder,
): Promise<Pick<EffectOrder, 'compensation'>> => {
  const name = remoteNameIn(effect.uses);
  if (name === undefined) return {};
  const { items } = await client.call('approvals', 'capability_list', { name });
  const definition = items.find((each) => each.name === name);
  if (definition?.compensate !== true) return {};
  return { compensation: { uses: compensationOf(effect.uses), effectClass: definition.effectClass } };
};

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

const OVER: ReadonlySet<TaskPhase> = new Set(['failed', 'cancelled']);

/** Goals of undo tasks begin with this. */
const goalOf = (id: EffectId): string => `undo ${id}`;

/** Refuses a second undo while the first one is open or has succeeded. */
const refuseTwice = async (client: Client, id: EffectId): Promise<void> => {
  const { items } = await client.call('orchestrator', 'list', { workflow: 'undo', search: id });
  const earlier = items.find(
    ({ goal, phase }) => !OVER.has(phase) && (goal === goalOf(id) || goal.startsWith(`${goalOf(id)}:`)),
  );
  if (earlier === undefined) return;
  throw new Refusal(
    'CLI_UNDONE',
    earlier.phase === 'completed'
      ? `${id} was undone by task ${earlier.id}`
      : `task ${earlier.id} undoes ${id} already: it is ${earlier.phase}`,
  );
};

/** The commit of a merge tells its approver more than the id of the effect. A stage wraps its outputs in its result. */
const goalFor = (id: EffectId, { effect, outputs }: EffectOrder): string => {
  const { commit } = JsonObject.safeParse(outputs?.['outputs']).data ?? {};
  const what = typeof commit === 'string' ? `, commit ${commit.slice(0, 12)}` : '';
  return `${goalOf(id)}: ${effect.uses} on ${effect.target}${what}`;
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
          const found = await client.call('executor', 'order', { id });
          const order = found.compensation
            ? found
            : { ...found, ...(await remoteCompensation(client, found)) };
          const inputs = inputsFor(order, pool);
          await refuseTwice(client, id);
          const request = { workflow: 'undo', goal: goalFor(id, order), inputs: inputs as JsonObject };
          const answer = await client.call('orchestrator', 'submit', request, { requestId: orderedUuid() });
          if (asJson) json(answer);
          else lines([`task ${answer.id} is ${answer.phase}: approve ${inputs.uses} to revert the effect`]);
          return undefined;
        }),
      ),
    'effect undo e-74c6ad9rnk5b0qxm',
  );
};
