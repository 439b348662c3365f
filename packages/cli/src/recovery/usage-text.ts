import type { Usage } from '@holdpoint/contracts/workflow/attempt';
import type { Budget } from '@holdpoint/contracts/workflow/workflow';
import { span } from '../output/columns.ts';

const number = (value: number): string => value.toLocaleString('en-US');
/** Cents are precise enough, except below one cent. */
export const costText = (usd: number): string =>
  `$${usd > 0 && usd < 0.01 ? usd.toFixed(4) : usd.toFixed(2)}`;

const part = <Value>(
  used: Value | undefined,
  most: Value | undefined,
  text: (value: Value) => string,
  none: Value,
): readonly string[] => {
  if (most !== undefined) return [`${text(used ?? none)} of ${text(most)}`];
  return used === undefined ? [] : [text(used)];
};

/** `12,345 of 200,000 tokens, $0.42 of $5.00, 4 min of work`; empty if nothing is known. */
export const spentText = (spent: Usage = {}, budget: Budget = {}): string => {
  const { inputTokens, outputTokens, costUsd, durationMs } = spent;
  const tokens =
    inputTokens === undefined && outputTokens === undefined
      ? undefined
      : (inputTokens ?? 0) + (outputTokens ?? 0);
  return [
    ...part(tokens, budget.tokens, number, 0).map((text) => `${text} tokens`),
    ...part(costUsd, budget.costUsd, costText, 0),
    ...part(durationMs, budget.workMs, span, 0).map((text) => `${text} of work`),
  ].join(', ');
};
