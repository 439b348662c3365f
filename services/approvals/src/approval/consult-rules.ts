import type { ApprovalEvent } from '@holdpoint/contracts/approval/events';
import type { RuleId } from '@holdpoint/contracts/values/ids';
import { asSent, type Json } from '@holdpoint/contracts/values/json';
import { type Decision, decision } from '@holdpoint/runtime/decider';
import type { AdmittedRequest, ApprovalWork, Closed, Pending } from './state.ts';
import { timerData } from './timer-data.ts';

const CONSULT = 'rules';
const KEEP = 'keep_rule';
const RETRY_MS = 5_000;
const TRIES_MAX = 5;

/**
 * Asks the first rule whether it decides. A rule that does not match passes the request on to the next one.
 */
export const consultRules = (
  approval: AdmittedRequest,
  rules: readonly RuleId[],
  now: number,
  tries = 1,
): Pick<Decision<ApprovalEvent, ApprovalWork>, 'timers' | 'work'> => {
  const [rule, ...rest] = rules;
  if (rule === undefined) return { timers: [], work: [] };
  return {
    // Messages inside this process are lost when it stops: the timer repeats them.
    timers: [{ set: CONSULT, dueAt: now + RETRY_MS, data: { rules: [...rules], tries } }],
    work: [{ kind: 'use_rule', rule, approval, rest }],
  };
};

export const rulesTimerFired = (
  state: Pending | Closed,
  data: Json,
  now: number,
): Decision<ApprovalEvent, ApprovalWork> => {
  const { rules, tries } = timerData(data) as { readonly rules: readonly RuleId[]; readonly tries: number };
  if (state.status === 'closed' || tries >= TRIES_MAX) return decision({ timers: [{ clear: CONSULT }] });
  return decision(consultRules(state.request, rules, now, tries + 1));
};

/** Creates the rule that a decision asked to remember. A timer repeats the command until the rule exists. */
export const keepRule = (
  work: Extract<ApprovalWork, { kind: 'keep_rule' }>,
  now: number,
): Pick<Decision<ApprovalEvent, ApprovalWork>, 'timers' | 'work'> => {
  const { rule, spec, author, from } = work;
  const { name, groups, roles } = author;
  const data = asSent({ rule, spec, from, author: { name, groups, roles } });
  return { timers: [{ set: KEEP, dueAt: now + RETRY_MS, data }], work: [work] };
};

export const keepTimerFired = (data: Json, now: number): Decision<ApprovalEvent, ApprovalWork> =>
  // `keepRule` has set this data.
  decision(keepRule({ kind: 'keep_rule', ...timerData(data) } as Parameters<typeof keepRule>[0], now));

export const ruleKept = (): Decision<ApprovalEvent, ApprovalWork> => decision({ timers: [{ clear: KEEP }] });

export const isConsultTimer = (name: string): boolean => name === CONSULT;
export const isKeepTimer = (name: string): boolean => name === KEEP;
