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

/** The budget, plus the same again for each granted extension. */
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

/** The exhausted limits as text. Undefined while every limit has a rest. */
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

/**
 * Whether a node needs a budget extension before it starts. Effects have their own approval and use no
 * budget.
 */
export const needsBudget = (task: Task, node: NodeDefinition): boolean =>
  node.effect === undefined && !isControlNode(node) && exhaustedBudget(task) !== undefined;

/** The extension, as part of the approved effect. */
export const budgetRequest = (task: Task): BudgetRequest => {
  const { audience: _, ...more } = task.definition.policy?.budget ?? {};
  return { used: exhaustedBudget(task) ?? '', extension: (task.extensions ?? 0) + 1, more };
};

/** The budget extension that an effect requests. */
export const budgetRequestIn = ({ args }: CanonicalEffect): BudgetRequest | undefined =>
  BudgetRequest.safeParse(args['budget']).data;

/** Whether the current extension was granted. */
export const isBudgetGranted = (task: Task, node: NodeDefinition): boolean => {
  const { gate } = nodeState(task, node.id);
  const asked = gate && budgetRequestIn(gate.effect);
  return gate?.grant !== undefined && asked?.extension === (task.extensions ?? 0) + 1;
};

/** Uses up the grant: it counts once. */
export const extendBudget = (builder: DecisionBuilder, node: NodeDefinition): void => {
  const { gate } = nodeState(builder.task(), node.id);
  if (gate !== undefined) builder.emit({ type: 'budget_extended', node: node.id, approval: gate.approval });
};
