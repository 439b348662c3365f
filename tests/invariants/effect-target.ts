import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { type Committed, type Expect, memoryOf } from './invariant.ts';

/** An effect as it reached the target. `epoch` is the start that sent it, where the target knows it. */
export type Seen = { readonly effect: string; readonly epoch?: number | undefined };

/** While the ledger has one of these, nothing may reach the target. */
const NOTHING_HAPPENED: ReadonlySet<string> = new Set([
  'absent',
  'prepared',
  'refused',
  'failed_clean',
  'not_applied',
  'cancelled',
]);
const STATUSES: ReadonlySet<string> = new Set([...NOTHING_HAPPENED, 'started', 'applied', 'in_doubt']);

type Memory = {
  status: string;
  order: RunEffect | undefined;
  readonly seen: (number | undefined)[];
  readonly failed: Set<number>;
};

/** Compares the ledger with the target. Steps of kind `work` are no effects on a target, and are left out. */
export const watchTarget = (expect: Expect) => {
  const memory = memoryOf((): Memory => ({
    status: 'absent',
    order: undefined,
    seen: [],
    failed: new Set(),
  }));
  const taskOf = ({ order }: Memory, effect: string): string => order?.effect.task ?? effect;

  const checkRecorded = (known: Memory, aggregate: string, event: EffectEvent): void => {
    const { seen } = known;
    const detail = (): string => `${aggregate} is ${event.type} and was applied ${String(seen.length)} times`;
    switch (event.type) {
      case 'applied':
        return expect(
          'the ledger records as applied only what the target applied',
          seen.length > 0,
          event.task,
          detail,
        );
      case 'failed_clean':
        known.failed.add(event.epoch);
        return expect(
          'the ledger records as not applied only what the target did not apply',
          // A target that does not know epochs cannot tell two starts apart.
          !seen.some((epoch) => epoch === undefined || epoch === event.epoch),
          event.task,
          detail,
        );
      case 'not_applied':
      case 'refused':
      case 'cancelled':
        return expect(
          'the ledger records as not applied only what the target did not apply',
          seen.length === 0,
          event.task,
          detail,
        );
      default:
    }
  };

  return {
    ofEffect: ({ aggregate, event }: Pick<Committed<EffectEvent>, 'aggregate' | 'event'>): void => {
      const known = memory(aggregate);
      if (event.type === 'started' || event.type === 'prepared') known.order = event.order;
      if (STATUSES.has(event.type)) known.status = event.type;
      if (known.order?.effect.kind !== 'work') checkRecorded(known, aggregate, event);
    },
    ofApplication: ({ effect, epoch }: Seen): void => {
      const known = memory(effect);
      known.seen.push(epoch);
      const task = taskOf(known, effect);
      expect(
        'an effect reaches the target at most once, unless it is declared idempotent',
        known.seen.length === 1 || known.order?.effect.effectClass === 'idempotent',
        task,
        () => `${effect} was applied ${String(known.seen.length)} times`,
      );
      expect(
        'nothing reaches the target that the ledger records as not applied',
        !NOTHING_HAPPENED.has(known.status) && !(epoch !== undefined && known.failed.has(epoch)),
        task,
        () => `${effect} is ${known.status} and was applied under epoch ${String(epoch)}`,
      );
    },
  };
};
