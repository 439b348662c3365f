import { type Artifact, artifactLabel } from '@holdpoint/contracts/workflow/artifact';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { InspectOutputs, StepInput, StepResult } from '@holdpoint/contracts/task/step';
import { CleanFailure } from '@holdpoint/executor/ports/capability';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { Choices } from '../choices.ts';
import { failureAt, reportAt } from '../faults/step-failures.ts';
import type { Target } from '../outside/target.ts';
import type { Weather } from '../faults/fault-rates.ts';

/** Producer and attempt of an artifact: a node must not get the artifact of another. */
export type MadeBy = { readonly by: string; readonly attempt: number };

const FAILS = 0.12;
const GATE_FAILS = 0.4;
const STUBBORN_FAILS = 0.75;
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

/** The worktree of a task, where a rollback needs no approval. */
export const worktreeOf = (task: string): string => `.holdpoint/worktrees/${task}`;
const commitOf = (what: string): string => sha256Of(what).slice(0, 40);

/** The artifact that a step leaves in the repository. */
const leftBy = ({ effect: { task, uses }, id }: RunEffect, choices: Choices): JsonObject => {
  if (uses === 'cap.env.builtin.worktree.prepare')
    return { worktree: worktreeOf(task), commit: commitOf(`base of ${task}`) };
  if (uses.startsWith('control.gate.') && choices.happens(`clean ${id}`, 0.6))
    return { clean: true, commit: commitOf(id) };
  if (uses === 'cap.env.builtin.git.handoff')
    return { commit: commitOf(id), log: [`what ${id} put by`], files: ['src/one.ts'] };
  return {};
};

/** The result of a stage. It differs each time, because work and gates are repeated. */
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
    ...leftBy(order, choices),
  };
  const drawn = choices.number(`outcome ${place}`);
  const fails =
    input.with['stubborn'] === true ? STUBBORN_FAILS : uses.startsWith('control.') ? GATE_FAILS : FAILS;
  const outcome = drawn < fails ? 'failed' : drawn < fails + BLOCKS ? 'blocked' : 'succeeded';
  const { produces = [], repository = '' } = input;
  const { task, node } = order.effect;
  const { report, ...failed } = failureAt(choices, `${task}/${node}`, place);
  if (outcome === 'succeeded')
    for (const artifact of produces) target.put(repository, artifactLabel(artifact));
  const result: StepResult = {
    outcome,
    outputs,
    ...(outcome === 'failed' && failed),
    ...(uses.startsWith('cap.agent.') && {
      report: { ...reportAt(choices, place), ...(outcome === 'failed' && report) },
    }),
    ...(outcome === 'succeeded' && { payloads: payloadsOf(order, produces) }),
    ...contextAfter(order, choices, place),
  };
  return result as JsonObject;
};

/** The working folder of the next step. */
const contextAfter = (
  { effect: { task, node, uses } }: RunEffect,
  choices: Choices,
  place: string,
): Pick<StepResult, 'context'> => {
  const changes = choices.happens(`context ${place}`, 0.2) && {
    branch: choices.pick(`branch ${place}`, [null, `b-${node}`]),
  };
  const prepared = uses === 'cap.env.builtin.worktree.prepare' && { worktree: worktreeOf(task) };
  return changes === false && prepared === false ? {} : { context: { ...changes, ...prepared } };
};

/** After `calmAt` every worktree is clean. */
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
  } satisfies InspectOutputs;
  return { outcome: 'succeeded', outputs };
};
