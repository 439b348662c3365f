import type { Usage } from '@holdpoint/contracts/workflow/attempt';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { type Budget, BudgetRequest, type NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { DecisionBuilder } from './decision-builder.ts';
import { nodeState, type Task } from './state.ts';
import { isControlNode } from './control-nodes.ts';

type Limits = Pick<Budget, 'tokens' | 'costUsd' | 'workMs'>;

const UNITS = { tokens: 'tokens', costUsd: 'USD', workMs: 'ms of work' } as const;
const LIMITS = ['tokens', 'costUsd', 'workMs'] as const;

const spentOf = ({ inputTokens = 0, outputTokens = 0, costUsd = 0, durationMs = 0 }: Usage = {}) => ({
  tokens: inputTokens + outputTokens,
  costUsd,
  workMs: durationMs,
});

/** As much as the task may use by now: its budget, and as much again for each time that somebody granted it. */
export const currentLimits = ({ definition, extensions = 0 }: Task): Limits | undefined => {
  const { budget } = definition.policy ?? {};
  if (budget === undefined) return undefined;
  return Object.fromEntries(
    LIMITS.flatMap((what) => {
      const limit = budget[what];
      return limit === undefined ? [] : [[what, limit * (1 + extensions)] as const];
    }),
  );
};

/** What of its budget is used up, for people; undefined while something is left of everything. */
export const exhaustedBudget = (task: Task): string | undefined => {
  const limits = currentLimits(task);
  if (limits === undefined) return undefined;
  const spent = spentOf(task.spent);
  const over = LIMITS.filter((what) => spent[what] >= (limits[what] ?? Infinity));
  if (over.length === 0) return undefined;
  return over
    .map((what) => `${String(spent[what])} of ${String(limits[what])} ${UNITS[what]} are used`)
    .join(', ');
};

/** Whether somebody has to grant more before a node starts. Effects have people of their own, and use nothing. */
export const needsBudget = (task: Task, node: NodeDefinition): boolean =>
  node.effect === undefined && !isControlNode(node) && exhaustedBudget(task) !== undefined;

/** What is granted, as part of what is approved. */
export const budgetRequest = (task: Task): BudgetRequest => {
  const { audience: _, ...more } = task.definition.policy?.budget ?? {};
  return { used: exhaustedBudget(task) ?? '', extension: (task.extensions ?? 0) + 1, more };
};

/** What an effect asks for, when it is more budget. */
export const budgetRequestIn = ({ args }: CanonicalEffect): BudgetRequest | undefined =>
  BudgetRequest.safeParse(args['budget']).data;

/** Whether an approval was given for the extension that is needed now. */
export const isBudgetGranted = (task: Task, node: NodeDefinition): boolean => {
  const { gate } = nodeState(task, node.id);
  const asked = gate && budgetRequestIn(gate.effect);
  return gate?.grant !== undefined && asked?.extension === (task.extensions ?? 0) + 1;
};

/** The grant counts once. */
export const extendBudget = (builder: DecisionBuilder, node: NodeDefinition): void => {
  const { gate } = nodeState(builder.task(), node.id);
  if (gate !== undefined) builder.emit({ type: 'budget_extended', node: node.id, approval: gate.approval });
};
