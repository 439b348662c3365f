import { outcomeIn } from '@holdpoint/approvals/adapters/ask-outcome';
import type { Accept } from '@holdpoint/approvals/aggregates';
import type { AskOutcome, Delivery } from '@holdpoint/approvals/approval/state';
import { effectView } from '@holdpoint/executor/queries/effects';
import type { Life } from '../process-life.ts';
import type { World } from '../world.ts';

/** By approval: the notices that an external surface has shown. */
export type Shown = Map<string, string[]>;

/** Shows each notice after a while, unless the surface is away. */
export const simulatedSurface =
  ({ weather, timeline, shown }: World, life: Life) =>
  ({ approval, surface, notice, number }: Delivery, accept: Accept): void => {
    const place = `${surface} ${notice} ${String(number)} of ${approval}`;
    timeline.in(weather.latency(place), () => {
      if (weather.strikes('surface is away', place)) return;
      shown.set(approval, [...(shown.get(approval) ?? []), notice]);
      // The confirmation may be the only thing that anyone learns.
      life.enter(() =>
        accept({
          kind: 'approval',
          aggregate: approval,
          message: { kind: 'delivered', surface, notice, number, reference: `m-${approval}` },
        }),
      );
    });
  };

/** The executor answers from its ledger after a while, or not at all. */
export const simulatedLook =
  ({ weather, timeline, books }: World, life: Life) =>
  (asked: AskOutcome, accept: Accept): void => {
    const place = `look at ${asked.effect} for ${asked.approval}`;
    timeline.in(weather.latency(place), () => {
      if (weather.strikes('caller does not hear the answer', place)) return;
      const view = effectView(books.executor.stateOf(asked.effect));
      const routed = view && outcomeIn(asked, view);
      if (routed !== undefined) life.enter(() => accept(routed));
    });
  };
