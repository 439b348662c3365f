import type { Accept } from '@holdpoint/approvals/aggregates';
import type { CallbackMessage, CallbackWork } from '@holdpoint/approvals/callback/callback';
import type { HeldEffect } from '@holdpoint/contracts/effect/hold';
import type { Life } from '../process-life.ts';
import { DEAF } from '../workload/held-effects.ts';
import type { World } from '../world.ts';

/** By callback: what its receiver was sent, as often as it was sent. */
export type Received = Map<string, HeldEffect[]>;

/** The receiver of callbacks. It may be away, and its answers may get lost. */
export const simulatedReceiver =
  ({ weather, timeline, received }: World, life: Life) =>
  ({ order: { id, callback, held }, tries }: CallbackWork, accept: Accept): void => {
    const place = `callback ${id}`;
    const report = (message: CallbackMessage): void =>
      life.enter(() => accept({ kind: 'callback', aggregate: id, message }));
    timeline.in(weather.latency(place), () => {
      if (callback.url === DEAF || weather.strikes('receiver of a callback is away', place))
        return report({ kind: 'callback_missed', tries, problem: 'the receiver was not reached' });
      received.set(id, [...(received.get(id) ?? []), held]);
      if (weather.strikes('answer of a receiver is lost', place)) return;
      report(
        weather.strikes('receiver wants no more callbacks', place)
          ? { kind: 'callback_gone', tries, problem: 'the receiver answered 410' }
          : { kind: 'called_back', tries },
      );
    });
  };
