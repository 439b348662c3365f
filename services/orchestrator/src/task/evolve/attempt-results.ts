import type { AttemptReport, Usage } from '@holdpoint/contracts/workflow/attempt';
import { withResult } from '../evidence/latest-results.ts';
import { hasWorktree } from '../model/context.ts';
import { type NodeChange, changeNode } from './node-changes.ts';
import { NO_ATTEMPT, contextLeftBy, endedNode, withdrawalOf } from './node-ends.ts';
import { type Task, type TaskChange, nodeDefinition, nodeState } from '../model/state.ts';
import { rememberCommand } from './task-changes.ts';

/** A failed attempt is the result of its node; one in doubt or cancelled is none. */
const withFailure = (
  task: Task,
  { node, attempt, outcome, error }: Extract<TaskChange, { type: 'node_failed' | 'node_ended' }>,
  text: string = error.message,
): Task =>
  outcome === 'failed' ? withResult(task, nodeDefinition(task, node), { attempt, outcome, text }) : task;

export const succeeded = (task: Task, event: Extract<TaskChange, { type: 'node_succeeded' }>): Task => {
  const { node, outputs, context, payloads, detail, exitCode, step } = event;
  const before = nodeState(task, node);
  // The effect had been applied before the request was repeated, so the request needs no answer.
  const why = before.status === 'awaiting_approval' ? 'the effect was applied' : 'the node is done';
  const kept = Object.keys(outputs).length > 0 ? outputs : undefined;
  const change: NodeChange = {
    status: 'succeeded',
    outputs: kept,
    context,
    payloads,
    detail,
    exitCode,
    report: event.report,
    reason: undefined,
  };
  const ended = endedNode(task, node, change, why, event.by === undefined ? (step ?? 'run') : undefined);
  const { attempt } = event;
  const result = { attempt, outcome: 'succeeded', text: detail, outputs, context } as const;
  // A person who takes a node as done has not reviewed it.
  const done = event.by === undefined ? withResult(ended, nodeDefinition(task, node), result) : ended;
  return rememberCommand(step === undefined ? done : addUsage(done, event.report), event.command);
};

/** Usage is counted with the step that used it. */
const addUsage = (task: Task, report: AttemptReport | undefined): Task =>
  report?.usage === undefined ? task : { ...task, spent: sumUsage(task.spent, report.usage) };

const COUNTED = ['inputTokens', 'outputTokens', 'costUsd', 'durationMs'] as const;

const sumUsage = (spent: Usage = {}, used: Usage): Usage =>
  Object.fromEntries(
    COUNTED.flatMap((what) => {
      const sum = (spent[what] ?? 0) + (used[what] ?? 0);
      return spent[what] === undefined && used[what] === undefined ? [] : [[what, sum] as const];
    }),
  );

export const stepEnded = (
  task: Task,
  { node, step, result }: Extract<TaskChange, { type: 'step_ended' }>,
): Task => {
  const before = nodeState(task, node);
  const { orders = {}, done = {}, status } = before;
  // The effect had been applied before this status was reached. The attempt continues from there.
  const late =
    step === 'run' && status !== 'running'
      ? {
          status: 'running',
          reason: undefined,
          // Preparations for another attempt are obsolete.
          orders: undefined,
          preparation: undefined,
          ...withdrawalOf(before, 'the effect was applied', step),
        }
      : {};
  const open = Object.fromEntries(Object.entries(orders).filter(([, order]) => order.step !== step));
  const rest = Object.keys(open).length > 0 ? open : undefined;
  const granted = step === 'run' ? { underGrant: undefined, inDoubt: undefined } : {};
  const { usage: _, ...said } = result.report ?? {};
  // Usage is counted once, not again with the node.
  const kept = result.report === undefined ? result : { ...result, report: said };
  const change = { orders: rest, deferral: undefined, ...granted, ...late, done: { ...done, [step]: kept } };
  return addUsage(changeNode(task, node, change), result.report);
};

export const attemptFailed = (task: Task, event: Extract<TaskChange, { type: 'node_failed' }>): Task => {
  const before = nodeState(task, event.node);
  const failed = changeNode(task, event.node, {
    ...NO_ATTEMPT,
    ...withdrawalOf(before, 'the attempt failed', event.step ?? 'run'),
    // While the effect is in doubt, its locks stay held. So do those of a worktree, until recovery
    // decides whether the next session uses it.
    locks: event.outcome === 'in_doubt' || hasWorktree(task, event.node) ? before.locks : undefined,
    status: 'recovering',
    inDoubt: event.inDoubt,
    failure: {
      outcome: event.outcome,
      error: event.error,
      ...(event.step !== undefined && { step: event.step }),
      ...(event.cause !== undefined && { cause: event.cause }),
      ...(event.result && { result: event.result }),
      ...(event.paused !== undefined && { paused: event.paused }),
    },
    report: event.result?.report,
  });
  const reached = withFailure(failed, event, event.result?.hint);
  return event.step === undefined ? reached : addUsage(reached, event.result?.report);
};

export const ended = (task: Task, event: Extract<TaskChange, { type: 'node_ended' }>): Task => {
  const { node, outcome, error, exitCode, hint, outputs, context, report, step } = event;
  const left = context === undefined && outcome !== 'unreached' ? contextLeftBy(task, node) : { context };
  const change = {
    status: outcome,
    reason: error.message,
    error,
    exitCode,
    hint,
    outputs,
    report,
    ...left,
  };
  const ended = endedNode(task, node, change, error.message, step);
  const reached = withFailure(ended, event, hint);
  return rememberCommand(step === undefined ? reached : addUsage(reached, report), event.command);
};
