import { COST_USD_MAX, TOKENS_MAX } from '@holdpoint/contracts/workflow/attempt';
import { AudienceMember } from '@holdpoint/contracts/workflow/audience';
import { type Budget, WAIT_MAX_MS, type WorkflowPolicy } from '@holdpoint/contracts/workflow/workflow';
import type { Expander } from '../parameters/expander.ts';
import { shown, type Report } from '../../problems/report.ts';
import type { RawBudget } from '../../template/schema.ts';
import type { Template } from '../../template/template.ts';

/** Reads the policy of a workflow and reports its problems. */
type PolicyReader = {
  readonly text: (value: string, path: string) => string;
  readonly refuse: (code: string, path: string, found: string, expected: string) => void;
};

const MINUTE_MS = 60_000;
const MINUTES_MAX = WAIT_MAX_MS / MINUTE_MS;

type Measure = {
  readonly expected: string;
  /** Converts to the unit of the definition; undefined when out of range. */
  readonly read: (amount: number) => number | undefined;
};

const within = (amount: number, least: number, most: number): number | undefined =>
  amount >= least && amount <= most ? amount : undefined;

const MEASURES: Readonly<Record<'tokens' | 'cost_usd' | 'minutes', Measure>> = {
  tokens: {
    expected: `a whole number from 1 to ${String(TOKENS_MAX)}`,
    read: (amount) => (Number.isInteger(amount) ? within(amount, 1, TOKENS_MAX) : undefined),
  },
  cost_usd: {
    expected: `an amount above 0, at most ${String(COST_USD_MAX)}`,
    read: (amount) => (amount > 0 ? within(amount, 0, COST_USD_MAX) : undefined),
  },
  minutes: {
    expected: `a number of minutes, such as 90 or 0.5, from one second to ${String(MINUTES_MAX)}`,
    read: (amount) => within(Math.round(amount * MINUTE_MS), 1_000, WAIT_MAX_MS),
  },
};

const DECIMAL = /^\d{1,13}(?:\.\d{1,9})?$/;

/** An amount of the budget; undefined for an empty parameter, which means no limit. */
const amountOf = (raw: RawBudget, key: keyof typeof MEASURES, reader: PolicyReader): number | undefined => {
  const written = raw[key];
  if (written === undefined) return undefined;
  const path = `policy.budget.${key}`;
  const text = reader.text(String(written), path).trim();
  if (text === '' && written !== '') return undefined;
  const amount = DECIMAL.test(text) ? MEASURES[key].read(Number(text)) : undefined;
  if (amount === undefined)
    reader.refuse('WORKFLOW_BUDGET_AMOUNT', path, shown(text), MEASURES[key].expected);
  return amount;
};

const audienceOf = ({ audience }: RawBudget, reader: PolicyReader): readonly string[] | undefined => {
  if (audience === undefined) return undefined;
  const path = 'policy.budget.audience';
  return [audience].flat().flatMap((member, at) => {
    const where = typeof audience === 'string' ? path : `${path}[${String(at)}]`;
    const text = reader.text(member, where);
    if (AudienceMember.safeParse(text).success) return [text];
    reader.refuse(
      'WORKFLOW_BUDGET_AUDIENCE',
      where,
      shown(text),
      'a group, or user:<name>, group:<name>, role:<name>',
    );
    return [];
  });
};

const budgetOf = (raw: RawBudget, reader: PolicyReader): Budget | undefined => {
  if (raw.tokens === undefined && raw.cost_usd === undefined && raw.minutes === undefined) {
    const expected = 'tokens, cost_usd or minutes: at least one of them';
    reader.refuse('WORKFLOW_BUDGET_EMPTY', 'policy.budget', 'an empty budget', expected);
  }
  const tokens = amountOf(raw, 'tokens', reader);
  const costUsd = amountOf(raw, 'cost_usd', reader);
  const workMs = amountOf(raw, 'minutes', reader);
  const audience = audienceOf(raw, reader);
  if (tokens === undefined && costUsd === undefined && workMs === undefined) return undefined;
  return {
    ...(tokens !== undefined && { tokens }),
    ...(costUsd !== undefined && { costUsd }),
    ...(workMs !== undefined && { workMs }),
    ...(audience !== undefined && { audience: [...audience] }),
  };
};

/** The policy of a workflow with defaults filled in. */
export const workflowPolicy = (
  { policy, file }: Template,
  expander: Expander,
  report: Report,
): WorkflowPolicy => {
  const reader: PolicyReader = {
    text: (value, path) => expander.text(value, { path, file }),
    refuse: (code, path, found, expected) => {
      report.error({ code, path, found, expected, file });
    },
  };
  if (policy.resume?.reuse_mode === 'compatible') {
    const expected = 'strict: a run always keeps its definition';
    reader.refuse('WORKFLOW_RESUME', 'policy.resume.reuse_mode', 'compatible', expected);
  }
  const budget = policy.budget === undefined ? undefined : budgetOf(policy.budget, reader);
  return {
    failureMode: policy.failure_mode ?? 'block_downstream',
    missingProducer: policy.dependencies?.missing_producer ?? 'block',
    ...(budget !== undefined && { budget }),
  };
};
