import { type Artifact, artifactLabel } from '@holdpoint/contracts/artifact';
import type { RunEffect } from '@holdpoint/contracts/effect';
import { errorBody } from '@holdpoint/contracts/errors';
import type { JsonObject } from '@holdpoint/contracts/json';
import type { LookOutputs, StepInput, StepResult } from '@holdpoint/contracts/step';
import { CleanFailure } from '@holdpoint/executor/capabilities/capability';
import type { Choices } from './choices.ts';
import type { Target } from './target.ts';
import type { Weather } from './weather.ts';

/** Who made a thing, and in which attempt: nobody may be handed what was made for somebody else. */
export type MadeBy = { readonly by: string; readonly attempt: number };

const FAILS = 0.12;
const GATE_FAILS = 0.4;
const BLOCKS = 0.05;
const UNREADABLE = 0.005;
const REFUSED = 0.005;

const payloadsOf = (order: RunEffect, produces: readonly Artifact[]): Record<string, JsonObject> => {
  const { task, node } = order.effect;
  const made: MadeBy = { by: `${task}/${node}`, attempt: order.attempt };
  return Object.fromEntries(
    produces.flatMap((artifact) => (artifact.type === 'custom' ? [[artifactLabel(artifact), made]] : [])),
  );
};

/** What a stage says that it has come to. Each time it may be something else: work is repeated, and so is a gate. */
export const resultOfWork = (
  order: RunEffect,
  input: StepInput,
  {
    choices,
    target,
    weather,
  }: { readonly choices: Choices; readonly target: Target; readonly weather: Weather },
): JsonObject => {
  const { uses } = order.effect;
  const place = `result of ${order.id}`;
  if (uses === 'cap.env.builtin.repository.inspect')
    return inspection(order, input, { choices, target, weather });
  if (choices.happens(`unreadable ${place}`, UNREADABLE)) return { outcome: 'as you like it' };
  if (choices.happens(`refused ${place}`, REFUSED))
    throw new CleanFailure(errorBody('EXECUTOR_PATH_REFUSED', 'it lies outside'));
  const outputs = {
    coin: Math.floor(choices.between(`coin ${place}`, 0, 4)),
    list: choices.pick(`list ${place}`, [[], [1], [1, 2]]),
    ...(uses.endsWith('.preview') && { already: choices.happens(`already ${place}`, 0.1) }),
  };
  const drawn = choices.number(`outcome ${place}`);
  const fails = uses.startsWith('control.') ? GATE_FAILS : FAILS;
  const outcome = drawn < fails ? 'failed' : drawn < fails + BLOCKS ? 'blocked' : 'succeeded';
  const { produces = [], repository = '' } = input;
  if (outcome === 'succeeded')
    for (const artifact of produces) target.put(repository, artifactLabel(artifact));
  return {
    outcome,
    outputs,
    ...(outcome === 'failed' && { exitCode: 1, hint: `hint of ${place}` }),
    ...(outcome === 'succeeded' && { payloads: payloadsOf(order, produces) }),
    ...(choices.happens(`context ${place}`, 0.2) && {
      context: { branch: choices.pick(`branch ${place}`, [null, `b-${order.effect.node}`]) },
    }),
  } satisfies StepResult;
};

/** In calm weather somebody has tidied up. */
const inspection = (
  { id }: RunEffect,
  { artifacts = [], preconditions, repository = '' }: StepInput,
  {
    choices,
    target,
    weather,
  }: { readonly choices: Choices; readonly target: Target; readonly weather: Weather },
): JsonObject => {
  const labels = artifacts.map(artifactLabel);
  const dirty = preconditions !== undefined && !weather.isCalm() && choices.happens(`dirty ${id}`, 0.4);
  const outputs = {
    artifacts: Object.fromEntries(labels.map((label) => [label, target.has(repository, label)])),
    preconditions: dirty ? [{ kind: 'clean_worktree', met: false, detail: 'not clean' }] : [],
  } satisfies LookOutputs;
  return { outcome: 'succeeded', outputs };
};
