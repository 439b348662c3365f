import type { Engine } from '@holdpoint/runtime/engine/engine';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { Listener } from '@holdpoint/runtime/bus/listener';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { Pool } from 'pg';
import type { DeskMessage } from '../aggregates.ts';
import { readActiveRules } from '../queries/rules.ts';
import type { RuleBook } from './rule-book.ts';

/** What the bus does not bring is read all the same. */
const READ_EVERY_MS = 5_000;

/** Keeps the book of standing rules as the store has it: read at once, whenever a rule is added or revoked, and now and then. */
export const followRules = (
  book: RuleBook,
  pool: Pool,
  engine: Pick<Engine<DeskMessage>, 'accept'>,
  listener: Listener,
  log: Logger,
): { readonly stop: () => Promise<void> } => {
  const refresh = (): Promise<void> =>
    book.refresh(
      () => readActiveRules(pool),
      ({ id }, rules) =>
        engine.accept({
          aggregate: id,
          message: { kind: 'consider', rules },
          settled: () => undefined,
          failed: (reason) => log.error({ approval: id, code: reason.code }, 'rules could not be asked'),
          // Whoever waits for a person still does.
          unavailable: () => log.warn({ approval: id }, 'rules could not be asked'),
        }),
    );
  void refresh();
  listener.listen(filters.ruleFacts, () => void refresh());
  return startPeriodic('standing rules', READ_EVERY_MS, refresh, log);
};
