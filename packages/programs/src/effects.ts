import { effectClassOf, isCustom, namesProbe } from '@holdpoint/contracts/effect/capabilities';
import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import { effectTaskIdOf, type TaskId } from '@holdpoint/contracts/values/ids';
import { digestOf } from '@holdpoint/contracts/values/json';
import type { EffectEnd, Entry, ProgramEffect } from '@holdpoint/contracts/program/recording';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { evidenceOf } from '@holdpoint/contracts/workflow/review';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import { type NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { definitionProblems } from '@holdpoint/workflows/definition/definition-problems';
import { problemText } from '@holdpoint/workflows/problems/problem';
import type { DecisionBuilder } from './decision-builder.ts';
import { cancelEffect, effectTimer, submitEffect, watchEffect, withdrawTimer } from './outgoing.ts';
import { bytesOf, type RecordResult, sizeProblem } from './size-limits.ts';
import { effectKey, effectsOf, entryOf, type Program } from './state.ts';

type EffectEntry = Extract<Entry, { readonly kind: 'effect' }>;

/** Larger outputs stay with the task of the effect. */
const OUTPUTS_MAX_BYTES = 48 * 1_024;

const nodeFor = (task: Program, effect: ProgramEffect): NodeDefinition => {
  const { uses, kind, args, target, idempotencyKey, probe, compensate, rollbackHint, timeoutMs } = effect;
  const known = effectClassOf(uses, kind, {
    probe: namesProbe({ with: { probe: probe ?? args['probe'] ?? null } }),
  });
  return {
    id: task.node,
    uses,
    after: [],
    args,
    verbatim: true,
    ...(timeoutMs !== undefined && { timeoutMs }),
    effect: {
      kind,
      effectClass: known ?? (isCustom(uses) || isRemote(uses) ? effect.effectClass : undefined) ?? 'opaque',
      idempotencyKey,
      target,
      pool: effect.pool ?? DEFAULT_POOL,
      audience: effect.audience ?? [],
      approvalTimeoutMs: effect.approvalTimeoutMs ?? DECISION_MS,
      // A program that sets the time handles the expiry.
      ...(effect.approvalTimeoutMs !== undefined && { endsOnExpiry: true }),
      ...(effect.previews === true && { previews: true as const }),
      ...(probe !== undefined && { probe }),
      ...(compensate !== undefined && { compensate }),
      ...(rollbackHint !== undefined && { rollbackHint }),
    },
  };
};

/** The workflow of the effect's task: one node, under the name of the program. */
const definitionFor = (task: Program, effect: ProgramEffect): WorkflowDefinition => ({
  id: task.program.id,
  version: task.program.version,
  nodes: [nodeFor(task, effect)],
});

const PROBLEMS_SHOWN = 5;

/** Checks an effect like one that a template declares. */
const problemsIn = (definition: WorkflowDefinition): ErrorBody | undefined => {
  const { success, error } = WorkflowDefinition.safeParse(definition);
  const problems = success
    ? definitionProblems(definition)
        .filter(({ severity }) => severity === 'error')
        .map(problemText)
    : error.issues.map(({ path, message }) => `${path.map(String).join('.')}: ${message}`);
  if (problems.length === 0) return undefined;
  const shown = problems.slice(0, PROBLEMS_SHOWN);
  return errorBody('ORCHESTRATOR_PROGRAM_INVALID', `invalid effect: ${shown.join('; ')}`, {
    problems: shown,
  });
};

const submissionOf = (
  task: Program,
  child: TaskId,
  effect: ProgramEffect,
): SubmitTask & { readonly id: TaskId } => ({
  id: child,
  workflow: `${task.program.id}@${task.program.version}`,
  definition: definitionFor(task, effect),
  goal: effect.title ?? `${task.program.id}, ${task.node}`,
  ...(task.acceptanceCriteria.length > 0 && { acceptanceCriteria: [...task.acceptanceCriteria] }),
  onBehalfOf: {
    task: task.id,
    node: task.node,
    attempt: task.asked[effectKey(effect.idempotencyKey)]?.attempt ?? task.attempt,
  },
  ...passedOn(task),
  requestedBy: task.requestedBy,
  ...(task.agent !== undefined && { agent: task.agent }),
  ...(task.repository !== undefined && { repository: task.repository }),
});

const passedOn = (task: Program): Pick<SubmitTask, 'evidence'> => {
  const evidence = evidenceOf(task);
  return evidence === undefined ? {} : { evidence };
};

/**
 * Whether the recorded effect answers a new request. An effect that was not applied may be requested again by
 * a later attempt.
 */
const stands = (task: Program, { key, ended }: EffectEntry): boolean => {
  if (ended === undefined || ended.outcome === 'succeeded') return true;
  // The effect may have been running when it was cancelled, so its outcome is unknown here.
  if (ended.outcome === 'cancelled' || ended.error?.code === 'NODE_CANCELLED') return true;
  const { visit, attempt } = task.asked[key] ?? { visit: 0, attempt: 0 };
  // A rejection holds for the rest of the phase.
  return visit === task.visit && (ended.outcome === 'blocked' || attempt === task.attempt);
};

/** Starts a task for an effect. A repeated request returns the recorded effect. */
export const recordEffect = (builder: DecisionBuilder, effect: ProgramEffect): RecordResult => {
  const task = builder.task();
  const key = effectKey(effect.idempotencyKey);
  const digest = digestOf(effect);
  const known = entryOf(task, key);
  if (known?.kind === 'effect' && stands(task, known)) {
    if (known.digest === digest) return { entry: known };
    return {
      error: errorBody(
        'ERR_IDEMPOTENCY_CONFLICT',
        `another effect has the idempotency key ${JSON.stringify(effect.idempotencyKey)}`,
      ),
    };
  }
  const definition = definitionFor(task, effect);
  const problem = problemsIn(definition);
  if (problem !== undefined) return { error: problem };
  const asked = (task.asked[key]?.count ?? 0) + 1;
  const entry: EffectEntry = {
    kind: 'effect',
    key,
    digest,
    task: effectTaskIdOf(task.id, effect.idempotencyKey, asked),
  };
  const full = known === undefined ? sizeProblem(task, entry) : undefined;
  if (full !== undefined) return { error: full };
  const { node, visit, attempt, lease } = task;
  builder.emit({ type: 'phase_recorded', node, visit, attempt, lease, entry, effect });
  submitAndWatch(builder, entry.task, effect, 0);
  return { entry };
};

const submitAndWatch = (
  builder: DecisionBuilder,
  child: TaskId,
  effect: ProgramEffect,
  resends: number,
): void => {
  builder.send(submitEffect(submissionOf(builder.task(), child, effect), resends));
  builder.send(watchEffect(child, builder.task().id, resends));
  builder.resendTimer(effectTimer(child), resends);
};

/** Sends the submission of an effect's task again. */
export const resendEffect = (builder: DecisionBuilder, child: TaskId, resends: number): void => {
  const task = builder.task();
  const entry = effectsOf(task).find((each) => each.task === child);
  const effect = entry === undefined ? undefined : task.wanted[entry.key];
  if (entry === undefined || entry.ended !== undefined || effect === undefined) return;
  submitAndWatch(builder, child, effect, resends);
};

/** The end of an effect, with outputs up to the size limit. */
export const endOf = ({ outcome, outputs, error }: EffectEnd): EffectEnd => ({
  outcome,
  ...(outputs !== undefined && bytesOf(outputs) <= OUTPUTS_MAX_BYTES && { outputs }),
  ...(error !== undefined && { error }),
});

/** Cancels the open effects. A running effect may still be applied; its own task records that. */
export const withdrawEffects = (builder: DecisionBuilder, reason: string): void => {
  for (const { task: child, ended } of effectsOf(builder.task()))
    if (ended === undefined) {
      builder.timer({ clear: effectTimer(child) });
      withdrawEffect(builder, child, reason, 0);
    }
};

export const withdrawEffect = (
  builder: DecisionBuilder,
  child: TaskId,
  reason: string,
  resends: number,
): void => {
  builder.send(cancelEffect(builder.task(), child, reason, resends));
  builder.send(watchEffect(child, builder.task().id, WITHDRAWN + resends));
  builder.resendTimer(withdrawTimer(child), resends);
};

/** Sets these message ids apart from those of earlier watches. */
const WITHDRAWN = 1_000;
