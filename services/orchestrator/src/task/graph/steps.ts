import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { effectIdOf, type NodeId } from '@holdpoint/contracts/values/ids';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import type { StepResult } from '@holdpoint/contracts/task/step';
import type { NodeDefinition, Step } from '@holdpoint/contracts/workflow/workflow';
import { evaluateCondition, evaluateExpression } from '@holdpoint/workflows/expression/expression';
import { controlResult, isControlNode } from '../model/control-nodes.ts';
import { orderEffect, orderStep } from '../outgoing/effect-orders.ts';
import { replyTimer } from '../outgoing/outgoing.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { type StepPlan, workEffect } from '../outgoing/node-effects.ts';
import { expressionScope } from '../model/scope.ts';
import { type GateRequest, nodeDefinition, type NodeState, nodeState, type Task } from '../model/state.ts';

/** Default for `retry.budget`. */
export const RETRY_BUDGET_DEFAULT = 3;
const ITEMS_MAX = 1_000;

/** The next steps to order, the wait for ordered steps, or the result of the attempt. */
export type Progress =
  | { readonly kind: 'order'; readonly steps: readonly StepPlan[] }
  | { readonly kind: 'await' }
  | { readonly kind: 'ended'; readonly result: StepResult };

const DONE: StepResult = { outcome: 'succeeded' };

export const isSingleStep = ({
  before,
  afterwards,
  finally: last,
  forEach,
  until,
}: NodeDefinition): boolean =>
  [before, afterwards, last].every((steps) => steps === undefined || steps.length === 0) &&
  forEach === undefined &&
  until === undefined;

const planOf = (step: string, { uses, args }: Step, item?: Json): StepPlan => ({
  step,
  uses,
  args,
  ...(item !== undefined && { item }),
});

/** The first step without a result, else the first that did not succeed. */
const sequenceProgress = (
  name: string,
  steps: readonly Step[] = [],
  done: NodeState['done'] = {},
): Progress => {
  for (const [index, step] of steps.entries()) {
    const key = `${name}.${String(index)}`;
    const result = done[key];
    if (result === undefined) return { kind: 'order', steps: [planOf(key, step)] };
    if (result.outcome !== 'succeeded') return { kind: 'ended', result };
  }
  return { kind: 'ended', result: DONE };
};

const isTrue = (task: Task, text: string, more: JsonObject): boolean =>
  evaluateCondition(text, expressionScope(task, text, more));

/** Throws `ExpressionError`. */
export const guardHolds = (task: Task, { guard }: NodeDefinition): boolean =>
  guard === undefined || isTrue(task, guard, {});

/**
 * The items of `for_each`. Throws `ExpressionError`, and `RangeError` for a value that is no list or too
 * long.
 */
export const itemsOf = (task: Task, { forEach }: NodeDefinition): readonly Json[] | undefined => {
  if (forEach === undefined) return undefined;
  const items: Json = evaluateExpression(forEach, expressionScope(task, forEach));
  if (!Array.isArray(items)) throw new RangeError('for_each: the expression must return a list');
  if (items.length > ITEMS_MAX)
    throw new RangeError(`for_each: ${String(items.length)} items, at most ${String(ITEMS_MAX)}`);
  return items as readonly Json[];
};

const outputsIn = (result: StepResult): JsonObject => ({
  ...result.outputs,
  ...(result.exitCode !== undefined && { exit_code: result.exitCode }),
});

type Item = { readonly index: number; readonly value: Json | undefined };

/** One item, repeated until its condition holds, within its budget. */
const itemProgress = (task: Task, node: NodeDefinition, { index, value }: Item): StepPlan | StepResult => {
  const { done = {} } = nodeState(task, node.id);
  const runsMax = node.until === undefined ? 1 : (node.retry?.budget ?? RETRY_BUDGET_DEFAULT) + 1;
  for (let round = 0; round < runsMax; round += 1) {
    const step = `run.${String(index)}.${String(round)}`;
    const result = done[step];
    if (result === undefined) return planOf(step, node, value);
    if (result.outcome !== 'succeeded' || node.until === undefined) return result;
    const more = { outputs: outputsIn(result), ...(value !== undefined && { item: value }) };
    if (isTrue(task, node.until, more)) return result;
  }
  const detail = `until: ${node.until ?? ''} did not hold after ${String(runsMax)} runs`;
  return { outcome: 'failed', detail: detail.slice(0, 2_000) };
};

/** The first result that did not succeed, or the outputs of all items. */
const combinedResult = (results: readonly StepResult[], repeated: boolean): StepResult => {
  const broken = results.find(({ outcome }) => outcome !== 'succeeded');
  if (broken !== undefined) return broken;
  const context = Object.assign({}, ...results.map((result) => result.context)) as StepResult['context'];
  const payloads = Object.assign({}, ...results.map((result) => result.payloads)) as StepResult['payloads'];
  const outputs = repeated ? { items: results.map(outputsIn) } : (results[0]?.outputs ?? {});
  return { ...(repeated ? DONE : (results[0] ?? DONE)), outputs, context, payloads };
};

const mainProgress = (task: Task, node: NodeDefinition): Progress => {
  const { items, done = {}, orders = {} } = nodeState(task, node.id);
  if (isControlNode(node)) return { kind: 'ended', result: controlResult(node) };
  if (node.forEach === undefined && node.until === undefined) {
    const result = done['run'];
    return result === undefined ? { kind: 'order', steps: [planOf('run', node)] } : { kind: 'ended', result };
  }
  const values: readonly Item[] =
    items === undefined ? [{ index: 0, value: undefined }] : items.map((value, index) => ({ index, value }));
  const reached = values.map((item) => itemProgress(task, node, item));
  const results = reached.filter((each): each is StepResult => 'outcome' in each);
  const broken = results.some(({ outcome }) => outcome !== 'succeeded');
  const under = new Set(Object.values(orders).map(({ step }) => step));
  const open = reached.filter((each): each is StepPlan => 'step' in each);
  if (open.length === 0 || (broken && under.size === 0))
    return { kind: 'ended', result: combinedResult(results, node.forEach !== undefined) };
  const room = Math.max(0, (node.parallel ?? 1) - under.size);
  const next = broken ? [] : open.filter(({ step }) => !under.has(step)).slice(0, room);
  return next.length === 0 ? { kind: 'await' } : { kind: 'order', steps: next };
};

/** The next part of the attempt: `before`, the main step, `afterwards`, and always `finally`. */
export const progressOf = (task: Task, id: NodeId): Progress => {
  const node = nodeDefinition(task, id);
  const { done = {} } = nodeState(task, id);
  let result = DONE;
  for (const part of [
    () => sequenceProgress('before', node.before, done),
    () => mainProgress(task, node),
    () => sequenceProgress('afterwards', node.afterwards, done),
  ]) {
    const progress = part();
    if (progress.kind !== 'ended') return progress;
    if (progress.result !== DONE) result = { ...progress.result };
    if (progress.result.outcome !== 'succeeded') break;
  }
  const last = sequenceProgress('finally', node.finally, done);
  if (last.kind !== 'ended') return last;
  const main = done['run'];
  if (result.outcome === 'succeeded' && main !== undefined) result = main;
  // The first failure is the result of the attempt.
  return {
    kind: 'ended',
    result: result.outcome === 'succeeded' && last.result !== DONE ? last.result : result,
  };
};

/** Orders a step that needs no grant. Throws `ExpressionError`. */
export const orderWork = (
  builder: DecisionBuilder,
  node: NodeId,
  step: string,
  effect: CanonicalEffect,
): void => {
  const { id: task } = builder.task();
  const { attempt } = nodeState(builder.task(), node);
  const effectId = effectIdOf(task, node, effect.idempotencyKey);
  builder.emit({ type: 'step_ordered', node, attempt, step, effectId, effect, digest: effectDigest(effect) });
  builder.send(orderStep(builder.task(), node, effectId, 0));
  startReplyTimer(builder, node);
};

/** Orders the approved effect under `grant`: by default the one in the node's state. */
export const orderApproved = (
  builder: DecisionBuilder,
  node: NodeId,
  grant: GateRequest['grant'] = nodeState(builder.task(), node).gate?.grant,
  granted?: { readonly by: string; readonly comment?: string; readonly payload?: JsonObject },
): void => {
  const { attempt, gate } = nodeState(builder.task(), node);
  if (gate === undefined || grant === undefined) throw new Error(`node ${node} has no grant`);
  const { approval, effectId } = gate;
  const { token, validUntil } = grant;
  const order = { type: 'effect_ordered', node, attempt, effectId, approval } as const;
  builder.emit({ ...order, grant: token, validUntil, ...(granted && { granted }) });
  builder.send(orderEffect(builder.task(), node, 0));
  startReplyTimer(builder, node);
};

/** Orders the next steps. The main step of an effect needs its grant. */
export const orderSteps = (builder: DecisionBuilder, id: NodeId, steps: readonly StepPlan[]): void => {
  for (const plan of steps) {
    const node = nodeDefinition(builder.task(), id);
    if (node.effect !== undefined && plan.step === 'run') orderApproved(builder, id);
    else orderWork(builder, id, plan.step, workEffect(builder.task(), id, plan));
  }
};

/** Sets the timer that sends the unanswered commands of a node again. `resends` counts how often it was sent again. */
export const startReplyTimer = (builder: DecisionBuilder, node: NodeId, resends = 0): void => {
  const { status } = nodeState(builder.task(), node);
  const asksPerson = status === 'awaiting_approval' || status === 'escalated';
  if (asksPerson) builder.questionTimer(replyTimer(node), resends);
  else builder.resendTimer(replyTimer(node), resends);
};
