import type { NodeId } from '@holdpoint/contracts/values/ids';
import { HINT_MAX, type Verdict } from '@holdpoint/contracts/recovery/verdict';
import type { StepResult } from '@holdpoint/contracts/task/step';
import { replyTimer, retryTimer } from '../outgoing/outgoing.ts';
import { hasWorktree } from '../model/context.ts';
import type { DecisionBuilder } from '../model/decision-builder.ts';
import { workEffect } from '../outgoing/node-effects.ts';
import { releaseNode } from '../graph/ending.ts';
import { HANDOFF_STEP } from '../evolve/evolve.ts';
import { workPlaceOf, attemptReport } from '../outgoing/evidence.ts';
import { nodeState, type Task } from '../model/state.ts';
import { orderWork } from '../graph/steps.ts';

/** Starts a hand-off: the worktree is committed first, so that nothing is lost. */
export const startHandoff = (builder: DecisionBuilder, node: NodeId, verdict: Verdict): void => {
  const { attempt } = nodeState(builder.task(), node);
  builder.timer({ clear: replyTimer(node) });
  builder.emit({ type: 'handoff_ordered', node, attempt, verdict });
  const task = builder.task();
  if (!hasWorktree(task, node)) return finishHandoff(builder, node, undefined);
  const { base } = workPlaceOf(task, node);
  const args = {
    message: `wip: session ${String((verdict.session ?? 2) - 1)} of ${node} ends`,
    ...(base !== undefined && { base }),
  };
  const plan = { step: HANDOFF_STEP, uses: 'cap.env.builtin.git.handoff', args };
  return orderWork(builder, node, HANDOFF_STEP, workEffect(task, node, plan));
};

/** Ends the hand-off. Without a commit the files are still in the worktree. */
export const finishHandoff = (
  builder: DecisionBuilder,
  node: NodeId,
  result: StepResult | undefined,
): void => {
  const before = nodeState(builder.task(), node);
  const { preparation, attempt } = before;
  if (preparation?.kind !== 'continue') return;
  const { hint: _, ...verdict } = preparation.verdict;
  const { delayMs, session } = verdict;
  builder.emit({
    type: 'node_retrying',
    node,
    attempt: attempt + 1,
    delayMs,
    verdict,
    hint: handoffText(builder.task(), node, preparation.verdict, result),
    ...(session !== undefined && { session }),
  });
  releaseNode(builder, node, before);
  builder.timer({ set: retryTimer(node), dueAt: builder.now + delayMs });
};

const LOG_MAX = 20;
const FILES_MAX = 50;

const textsIn = (value: unknown): readonly string[] =>
  Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`### ${title}`, '', ...lines, ''];

/** Effects that wait for approval or run: the next session must not try them another way. */
const openEffects = (task: Task): readonly string[] =>
  task.definition.nodes.flatMap(({ id, effect }) => {
    const { status, gate } = nodeState(task, id);
    const isOpen = status === 'awaiting_approval' || status === 'running' || status === 'escalated';
    return effect !== undefined && isOpen && gate !== undefined
      ? [`- ${id}: ${gate.effect.uses} on ${gate.effect.target} is ${status.replace('_', ' ')}`]
      : [];
  });

/** The hand-off text for the next session. */
const handoffText = (
  task: Task,
  node: NodeId,
  { hint = '' }: Verdict,
  result: StepResult | undefined,
): string => {
  const { done, next } = attemptReport(task, node) ?? {};
  const { outputs = {} } = result ?? {};
  const log = textsIn(outputs['log']).slice(0, LOG_MAX);
  const files = textsIn(outputs['files']).slice(0, FILES_MAX);
  return [
    '## Hand-off from the session before',
    '',
    ...section('Goal', [task.goal]),
    ...section('Done', done === undefined ? [] : [done]),
    ...section('Next', next === undefined ? [] : [next]),
    ...section(
      'Commits so far',
      log.map((subject) => `- ${subject}`),
    ),
    ...section(
      'Files changed',
      files.map((file) => `- ${file}`),
    ),
    ...section('Effects that are open', openEffects(task)),
    hint,
  ]
    .join('\n')
    .slice(0, HINT_MAX)
    .toWellFormed();
};
