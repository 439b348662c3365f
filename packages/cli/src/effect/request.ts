import { newTaskId, TaskId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { CapabilityLabel, Pool } from '@holdpoint/contracts/workflow/workflow';
import type { Command } from 'commander';
import { z } from 'zod';
import { as, collectInput, goalText } from '../kit/arguments.ts';
import { withExample } from '../kit/example.ts';
import type { Session } from '../kit/session.ts';
import { effectWorkflow, type RequestedEffect } from './effect-workflow.ts';

type Options = {
  readonly target: string;
  readonly goal: string;
  readonly arg?: JsonObject;
  readonly id?: TaskId;
  readonly pool?: string;
  readonly json?: true;
};

const Target = z.string().min(1).max(512);

export const addRequest = (effect: Command, { use, lines, json }: Session): void => {
  withExample(
    effect
      .command('request')
      .description('request one effect: it is held until people approve exactly this effect')
      .argument('<capability>', 'capability, such as cap.file.append', as(CapabilityLabel))
      .requiredOption('--target <text>', 'target; where the arguments name one, that one counts', as(Target))
      .requiredOption('--goal <text>', 'purpose, shown to the approvers', goalText)
      .option(
        '--arg <key=text>',
        'argument of the effect; key:=json for values other than text (repeatable)',
        collectInput,
      )
      .option('--id <id>', 'task ID; requesting with the same ID again returns the same task', as(TaskId))
      .option('--pool <name>', 'executor pool that carries it out', as(Pool))
      .option('--json', 'print the API response as JSON')
      .action(
        (
          uses: RequestedEffect['uses'],
          { arg: args = {}, json: asJson, id = newTaskId(), goal, ...wanted }: Options,
        ) =>
          use(async (client) => {
            const effect = { ...wanted, uses, args, idempotency_key: `request:${id}` };
            const definition = await effectWorkflow(client, 'one-effect', effect);
            const answer = await client.call('orchestrator', 'submit', {
              id,
              workflow: definition.id,
              definition,
              goal,
            });
            if (asJson) json(answer);
            else
              lines([
                `task ${answer.id} is ${answer.phase}: approve ${uses} on ${wanted.target} to carry it out`,
              ]);
            return undefined;
          }),
      ),
    'effect request cap.file.append --target log.txt --goal "Note the release" --arg file=log.txt --arg line=v1.4',
  );
};
