import type { RequestApproval } from '@holdpoint/contracts/approval/approval';
import type { RuleId } from '@holdpoint/contracts/values/ids';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { decides, type Rule } from '../rule/rule.ts';

/** So many rules are asked about one request, the oldest first. */
const ASKED_MAX = 8;
/** Requests that came before the book was read for the first time. */
const MISSED_MAX = 1_000;

export type RuleBook = ReturnType<typeof createRuleBook>;

/**
 * Which standing rules seem to fit a request. It may be a moment behind: whether a rule decides, it says itself when it is
 * asked, and a rule that is not asked leaves the decision to a person.
 */
export const createRuleBook = (now: () => number, log: Logger) => {
  let rules: readonly Rule[] | undefined;
  const missed: RequestApproval[] = [];

  const fitting = (request: RequestApproval): readonly RuleId[] =>
    (rules ?? [])
      .filter((rule) => decides(rule, request, now()))
      .slice(0, ASKED_MAX)
      .map(({ id }) => id);

  return {
    rulesFor: (request: RequestApproval): readonly RuleId[] => {
      if (rules === undefined && missed.length < MISSED_MAX) missed.push(request);
      return fitting(request);
    },
    /** Reads the book anew. `consider` is given what came before it could be read, with the rules that seem to fit. */
    refresh: async (
      read: () => Promise<readonly Rule[]>,
      consider: (request: RequestApproval, rules: readonly RuleId[]) => void,
    ): Promise<void> => {
      try {
        rules = await read();
      } catch (error) {
        log.warn(errorFields(error), 'standing rules could not be read: those known before are asked');
        return;
      }
      for (const request of missed.splice(0)) {
        const found = fitting(request);
        if (found.length > 0) consider(request, found);
      }
    },
  };
};
