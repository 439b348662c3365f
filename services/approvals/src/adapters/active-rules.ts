import type { Engine } from '@holdpoint/runtime/engine/engine';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { Pool } from 'pg';
import type { ServiceMessage } from '../aggregates.ts';
import { readActiveRules } from '../queries/rules.ts';
import type { AdmittedRequest } from '../approval/state.ts';
import type { RuleId } from '@holdpoint/contracts/values/ids';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { ruleDecides, type Rule } from '../rule/state.ts';

/** Rules asked about one request, oldest first. */
const ASKED_MAX = 8;
/** Requests kept until the rules are read for the first time. */
const MISSED_MAX = 1_000;

export type ActiveRules = ReturnType<typeof createActiveRules>;

/**
 * The active standing rules, possibly a moment out of date. Each rule decides for itself when it is asked. A
 * rule missing here only leaves the decision to a person.
 */
export const createActiveRules = (
  now: () => number,
  log: Logger,
  /** A rule that its author added during their own removal may not be revoked. */
  isRemoved: (author: string) => boolean = () => false,
) => {
  let rules: readonly Rule[] | undefined;
  const missed: AdmittedRequest[] = [];

  const fitting = (request: AdmittedRequest): readonly RuleId[] =>
    (rules ?? [])
      .filter((rule) => ruleDecides(rule, request, now()) && !isRemoved(rule.author.name))
      .slice(0, ASKED_MAX)
      .map(({ id }) => id);

  return {
    rulesFor: (request: AdmittedRequest): readonly RuleId[] => {
      if (rules === undefined && missed.length < MISSED_MAX) missed.push(request);
      return fitting(request);
    },
    /** Reads the rules again. `consider` receives the earlier requests that match a rule. */
    refresh: async (
      read: () => Promise<readonly Rule[]>,
      consider: (request: AdmittedRequest, rules: readonly RuleId[]) => void,
    ): Promise<void> => {
      try {
        rules = await read();
      } catch (error) {
        log.warn(errorFields(error), 'standing rules could not be read: using the previous ones');
        return;
      }
      for (const request of missed.splice(0)) {
        const found = fitting(request);
        if (found.length > 0) consider(request, found);
      }
    },
  };
};

/** Interval of reads that do not depend on events. */
const READ_EVERY_MS = 15_000;

/** Keeps the active rules up to date: reads them at start, on every rule event, and periodically. */
export const startRuleRefresh = (
  book: ActiveRules,
  pool: Pool,
  engine: Pick<Engine<ServiceMessage>, 'accept'>,
  listener: Pick<Listener, 'wake'>,
  log: Logger,
): { readonly stop: () => Promise<void> } => {
  const refresh = (): Promise<void> =>
    book.refresh(
      () => readActiveRules(pool),
      ({ id }, rules) =>
        engine.accept(
          { kind: 'approval', aggregate: id, message: { kind: 'consider', rules } },
          {
            committed: () => undefined,
            failed: (reason) =>
              log.error({ approval: id, code: reason.code }, 'standing rules could not be consulted'),
            // The request still waits for a person.
            unavailable: () => log.warn({ approval: id }, 'standing rules could not be consulted'),
          },
        ),
    );
  void refresh();
  listener.wake(filters.ruleEvents, () => void refresh());
  return startPeriodic('standing rules', READ_EVERY_MS, refresh, log);
};
