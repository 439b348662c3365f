import { type ErrorBody, errorBody } from '@holdpoint/contracts/values/errors';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { StepResult } from '@holdpoint/contracts/task/step';
import { type NodeDefinition, retryDelayMs } from '@holdpoint/contracts/workflow/workflow';
import { recordAttempt, retryTimer } from '../outgoing/outgoing.ts';
import { contextAfter, contextNow } from '../model/context.ts';
import type { Draft } from '../model/decision-builder.ts';
import { endNode, letGo } from './ending.ts';
import { failed } from './request-verdict.ts';
import { loopsFrom, mayLeadBack } from './loops.ts';
import { rewind } from './rewind.ts';
import { type FailedResult, nodeDefinition, nodeState } from '../model/state.ts';
import { BUDGET_DEFAULT } from './steps.ts';

const CODES = { failed: 'NODE_FAILED', blocked: 'NODE_BLOCKED', cancelled: 'NODE_CANCELLED' } as const;

/** An attempt has its result: the node is done, is tried again, leads back, or has ended without success. */
export const finish = (draft: Draft, id: NodeId, result: StepResult, step?: string): void => {
  const node = nodeDefinition(draft.task(), id);
  if (result.outcome === 'succeeded') return succeed(draft, id, result, step);
  if (node.gatePolicy === 'warn')
    return succeed(draft, id, { ...result, detail: `only a warning: ${said(result)}` }, step);
  if (result.outcome === 'failed' && node.onError?.strategy === 'recover')
    return failed(draft, id, step, {
      outcome: 'failed',
      error: errorBody('NODE_FAILED', said(result), { outcome: 'failed' }),
      result: failedResult(result),
    });
  if (result.outcome === 'failed' && triesAgain(draft, node, result)) return undefined;
  if (leadsBack(draft, node, result)) return undefined;
  return giveUp(draft, node, result, step);
};

/** It has failed, and no rule of its own tries it again: only its routes follow. */
export const finishForGood = (draft: Draft, id: NodeId, error: ErrorBody): void => {
  const node = nodeDefinition(draft.task(), id);
  const result: StepResult = { outcome: 'failed', detail: error.message.slice(0, DETAIL_MAX).toWellFormed() };
  if (!leadsBack(draft, node, result)) giveUp(draft, node, result, 'run', error);
};

/** As much as a result says of itself. */
const DETAIL_MAX = 2_000;

const said = ({ detail, exitCode, outcome }: StepResult): string =>
  detail ?? (exitCode === undefined ? outcome : `exit code ${String(exitCode)}`);

const failedResult = ({ exitCode, hint, report }: StepResult): FailedResult => ({
  ...(exitCode !== undefined && { exitCode }),
  ...(hint !== undefined && { hint }),
  ...(report && { report }),
});

const succeed = (draft: Draft, id: NodeId, result: StepResult, step: string | undefined): void => {
  const { outputs = {}, payloads, detail, exitCode, report } = result;
  const context = contextAfter(contextNow(draft.task(), id), result.context);
  const { attempt } = nodeState(draft.task(), id);
  endNode(draft, {
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
  for (const record of recordAttempt(draft.task(), id)) draft.send(record);
  // What a gate has put right is tried anew: a conflict that is resolved leads back to the merge.
  leadsBack(draft, nodeDefinition(draft.task(), id), result);
};

/** The node's own rules for another attempt: `on_error`, `retry.mode = on_failure`, a gate's `policy = retry`. */
const triesAgain = (draft: Draft, node: NodeDefinition, result: StepResult): boolean => {
  const { attempt, loops = 0 } = nodeState(draft.task(), node.id);
  const { onError, retry, gatePolicy } = node;
  if (onError?.strategy === 'pause') {
    const reason = `failed, and its template asks for a person: ${said(result)}`;
    const before = nodeState(draft.task(), node.id);
    draft.emit({ type: 'node_escalated', node: node.id, attempt, reason });
    letGo(draft, node.id, before);
    return true;
  }
  const byRule = retry?.mode === 'on_failure' || gatePolicy === 'retry';
  const back = loopsFrom(draft.task(), node.id, 'failed').length > 0;
  const retriesMax =
    onError?.strategy === 'retry'
      ? onError.maxRetries
      : byRule && !back
        ? (retry?.budget ?? BUDGET_DEFAULT)
        : 0;
  if (loops >= retriesMax) return false;
  const wait = onError?.strategy === 'retry' ? retryDelayMs(onError, loops) : 0;
  const before = nodeState(draft.task(), node.id);
  draft.emit({ type: 'node_retrying', node: node.id, attempt: attempt + 1, delayMs: wait });
  letGo(draft, node.id, before);
  draft.timer({ set: retryTimer(node.id), dueAt: draft.now + wait });
  return true;
};

/** A route to what has already run: it and everything downstream of it start anew, as often as the budget says. */
const leadsBack = (draft: Draft, node: NodeDefinition, result: StepResult): boolean => {
  const targets = loopsFrom(draft.task(), node.id, result.outcome);
  if (targets.length === 0 || !mayLeadBack(draft.task(), node.id)) return false;
  const hint = result.outcome === 'succeeded' ? {} : { hint: result.hint ?? said(result) };
  rewind(draft, targets, { route: node.id, ...hint });
  return true;
};

const giveUp = (
  draft: Draft,
  node: NodeDefinition,
  result: StepResult,
  step: string | undefined,
  error?: ErrorBody,
): void => {
  const { attempt, loops = 0 } = nodeState(draft.task(), node.id);
  const spent = loops > 0 && loopsFrom(draft.task(), node.id, result.outcome).length > 0;
  // A stop condition that was never met stands in the way; that is not the failure of anybody's work.
  const outcome =
    node.retry?.mode === 'until_gate' && result.outcome === 'failed' ? 'blocked' : result.outcome;
  if (outcome === 'succeeded') throw new Error('nothing to give up');
  const detail = spent ? `${said(result)}, and its ${String(loops)} retries are spent` : said(result);
  endNode(draft, {
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
    context: contextAfter(contextNow(draft.task(), node.id), result.context),
  });
};
