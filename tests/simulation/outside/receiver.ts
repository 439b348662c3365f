import type { Accept } from '@holdpoint/approvals/aggregates';
import type { HeldEffect } from '@holdpoint/contracts/effect/hold';
import type { CallBack } from '@holdpoint/contracts/webhook/callback';
import type { Life } from '../process-life.ts';
import { DEAF } from '../workload/held-effects.ts';
import type { World } from '../world.ts';

/** By callback: what its receiver was sent, as often as it was sent. */
export type Received = Map<string, HeldEffect[]>;

/** The receiver of callbacks. It may be away, and its answers may get lost. */
export const simulatedReceiver =
  ({ weather, timeline, received }: World, life: Life) =>
  (order: CallBack, accept: Accept): void => {
    const { id, callback, held } = order;
    const place = `callback ${id}`;
    timeline.in(weather.latency(place), () => {
      if (callback.url === DEAF || weather.strikes('receiver of a callback is away', place)) return;
      received.set(id, [...(received.get(id) ?? []), held]);
      if (weather.strikes('answer of a receiver is lost', place)) return;
      const message = weather.strikes('receiver wants no more callbacks', place)
        ? ({ kind: 'callback_gone', problem: 'the receiver answered 410' } as const)
        : ({ kind: 'called_back' } as const);
      life.enter(() => accept({ kind: 'callback', aggregate: id, message }));
    });
  };
