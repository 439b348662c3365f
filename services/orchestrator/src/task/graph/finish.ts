import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { StepResult } from '@holdpoint/contracts/task/step';
import { type NodeDefinition, retryDelayMs } from '@holdpoint/contracts/workflow/workflow';
import { recordAttempt } from '../outgoing/recovery-requests.ts';
import { retryTimer } from '../outgoing/outgoing.ts';
import { contextAfter, contextNow } from '../model/context.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { endNode, releaseNode } from './ending.ts';
import { requestVerdict } from './request-verdict.ts';
import { backRoutes, mayLoop } from './loops.ts';
import { restartNodes } from './restart.ts';
import { type FailedStep, nodeDefinition, nodeState } from '../model/state.ts';
import { RETRY_BUDGET_DEFAULT } from './steps.ts';

const CODES = { failed: 'NODE_FAILED', blocked: 'NODE_BLOCKED', cancelled: 'NODE_CANCELLED' } as const;

/** Applies the result of an attempt: success, another attempt, a route back, or failure. */
export const finishAttempt = (
  builder: DecisionBuilder,
  id: NodeId,
  result: StepResult,
  step?: string,
): void => {
  const node = nodeDefinition(builder.task(), id);
  if (result.outcome === 'succeeded') return succeed(builder, id, result, step);
  if (node.gatePolicy === 'warn')
    return succeed(builder, id, { ...result, detail: `warning only: ${detailOf(result)}` }, step);
  const strategy = node.onError?.strategy;
  if (result.outcome === 'failed' && (strategy === 'recover' || strategy === 'pause'))
    return requestVerdict(builder, id, step, {
      outcome: 'failed',
      error: errorBody('NODE_FAILED', detailOf(result), { outcome: 'failed' }),
      result: failedResult(result),
      ...(strategy === 'pause' && {
        paused: `failed, and its template wants an operator to decide: ${detailOf(result)}`,
      }),
    });
  if (result.outcome === 'failed' && retryByRule(builder, node)) return undefined;
  if (takeBackRoute(builder, node, result)) return undefined;
  return endUnsuccessfully(builder, node, result, step);
};

/** Fails the node without a retry. Only its routes follow. */
export const failForGood = (builder: DecisionBuilder, id: NodeId, error: ErrorBody): void => {
  const node = nodeDefinition(builder.task(), id);
  const result: StepResult = { outcome: 'failed', detail: error.message.slice(0, DETAIL_MAX).toWellFormed() };
  if (!takeBackRoute(builder, node, result)) endUnsuccessfully(builder, node, result, 'run', error);
};

/** Limit for the detail of a result. */
const DETAIL_MAX = 2_000;

const detailOf = ({ detail, exitCode, outcome }: StepResult): string =>
  detail ?? (exitCode === undefined ? outcome : `exit code ${String(exitCode)}`);

const failedResult = ({ exitCode, hint, report }: StepResult): FailedStep => ({
  ...(exitCode !== undefined && { exitCode }),
  ...(hint !== undefined && { hint }),
  ...(report && { report }),
});

const succeed = (
  builder: DecisionBuilder,
  id: NodeId,
  result: StepResult,
  step: string | undefined,
): void => {
  const { outputs = {}, payloads, detail, exitCode, report } = result;
  const context = contextAfter(contextNow(builder.task(), id), result.context);
  const { attempt } = nodeState(builder.task(), id);
  endNode(builder, {
    type: 'node_succeeded',
    node: id,
    attempt,
    outputs,
    ...(step !== undefined && { step }),
    ...(Object.keys(context).length > 0 && { context }),
    ...(payloads && Object.keys(payloads).length > 0 && { payloads }),
    ...(detail !== undefined && { detail }),
    ...(exitCode !== undefined && { exitCode }),
    ...(report && { report }),
  });
  for (const record of recordAttempt(builder.task(), id)) builder.send(record);
  // A resolved conflict leads back to the merge.
  takeBackRoute(builder, nodeDefinition(builder.task(), id), result);
};

/** Retries by the node's own rules: `on_error`, `retry.mode = on_failure`, or a gate's `policy = retry`. */
const retryByRule = (builder: DecisionBuilder, node: NodeDefinition): boolean => {
  const { attempt, loops = 0 } = nodeState(builder.task(), node.id);
  const { onError, retry, gatePolicy } = node;
  const byRule = retry?.mode === 'on_failure' || gatePolicy === 'retry';
  const back = backRoutes(builder.task(), node.id, 'failed').length > 0;
  const retriesMax =
    onError?.strategy === 'retry'
      ? onError.maxRetries
      : byRule && !back
        ? (retry?.budget ?? RETRY_BUDGET_DEFAULT)
        : 0;
  if (loops >= retriesMax) return false;
  const wait = onError?.strategy === 'retry' ? retryDelayMs(onError, loops) : 0;
  const before = nodeState(builder.task(), node.id);
  builder.emit({ type: 'node_retrying', node: node.id, attempt: attempt + 1, delayMs: wait });
  releaseNode(builder, node.id, before);
  builder.timer({ set: retryTimer(node.id), dueAt: builder.now + wait });
  return true;
};

/**
 * Follows a route to nodes that have already run, within its budget. They and everything downstream restart.
 */
const takeBackRoute = (builder: DecisionBuilder, node: NodeDefinition, result: StepResult): boolean => {
  const targets = backRoutes(builder.task(), node.id, result.outcome);
  if (targets.length === 0 || !mayLoop(builder.task(), node.id)) return false;
  const hint = result.outcome === 'succeeded' ? {} : { hint: result.hint ?? detailOf(result) };
  restartNodes(builder, targets, { route: node.id, ...hint });
  return true;
};

const endUnsuccessfully = (
  builder: DecisionBuilder,
  node: NodeDefinition,
  result: StepResult,
  step: string | undefined,
  error?: ErrorBody,
): void => {
  const { attempt, loops = 0 } = nodeState(builder.task(), node.id);
  const spent = loops > 0 && backRoutes(builder.task(), node.id, result.outcome).length > 0;
  // A stop condition that was never met blocks the node: no work failed.
  const outcome =
    node.retry?.mode === 'until_gate' && result.outcome === 'failed' ? 'blocked' : result.outcome;
  if (outcome === 'succeeded') throw new Error('nothing to give up');
  const detail = spent
    ? `${detailOf(result)}, and its ${String(loops)} retries are used up`
    : detailOf(result);
  endNode(builder, {
    type: 'node_ended',
    node: node.id,
    attempt,
    outcome,
    error: error ?? errorBody(CODES[outcome], detail, { outcome }),
    ...(step !== undefined && { step }),
    ...(result.exitCode !== undefined && { exitCode: result.exitCode }),
    ...(result.hint !== undefined && { hint: result.hint }),
    ...(result.outputs && { outputs: result.outputs }),
    ...(result.report && { report: result.report }),
    context: contextAfter(contextNow(builder.task(), node.id), result.context),
  });
};
