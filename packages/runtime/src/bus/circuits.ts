import { CircuitEvent, type CircuitView } from '@holdpoint/contracts/recovery/circuit';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { Clock } from '../engine/clock.ts';
import type { Listener } from './listener.ts';

/** Facts come at once; this finds what was missed while the bus was away. */
const ASK_EVERY_MS = 3_000;
const PAGE = 500;
/** Whoever starts asks so often for an answer, so that one that is late or lost costs no target a burst of orders. */
const FIRST_TRIES = 3;
const TRY_AGAIN_MS = 300;

export type CircuitsHeard = {
  /** One has changed. */
  readonly hear: (fact: CircuitEvent) => void;
  /** How all of them stand, and when that was asked, by the clock of the process. */
  readonly hearAll: (all: readonly CircuitView[], askedAt: number) => void;
};

/** All that recovery has, up to so many pages of 500; undefined when it does not answer. */
const askForAll = async (
  listener: Pick<Listener, 'listen' | 'ask'>,
  pagesMax: number,
): Promise<readonly CircuitView[] | undefined> => {
  const all: CircuitView[] = [];
  let after: string | undefined;
  for (let page = 0; page < pagesMax; page += 1) {
    const place = { limit: PAGE, ...(after !== undefined && { after }) };
    const answer = await listener.ask('recovery', 'circuits', place);
    if (answer === undefined) return undefined;
    all.push(...answer.items);
    after = answer.next;
    if (after === undefined) break;
  }
  return all;
};

/**
 * Hears what recovery says of circuits: each change, and, every few seconds, how all of them stand. `asked` resolves once
 * recovery has answered, or, when it seems to be away, has been asked three times.
 */
export const followCircuits = (
  listener: Pick<Listener, 'listen' | 'ask'>,
  clock: Clock,
  pagesMax: number,
  { hear, hearAll }: CircuitsHeard,
): { readonly asked: Promise<void>; readonly stop: () => void } => {
  listener.listen(filters.circuitEvents, (_subject, body) => {
    const { data: fact } = CircuitEvent.safeParse(body);
    if (fact !== undefined) hear(fact);
  });

  let busy = false;
  /** Whether it was answered. */
  const ask = async (): Promise<boolean> => {
    if (busy) return false;
    busy = true;
    const askedAt = clock.now();
    const all = await askForAll(listener, pagesMax).finally(() => (busy = false));
    if (all !== undefined) hearAll(all, askedAt);
    return all !== undefined;
  };
  const askAtFirst = async (): Promise<void> => {
    for (let tries = 1; !(await ask()) && tries < FIRST_TRIES; tries += 1)
      await new Promise<void>((resolve) => void clock.after(TRY_AGAIN_MS, resolve));
  };

  const asked = askAtFirst();
  return { asked, stop: clock.every(ASK_EVERY_MS, () => void ask()) };
};
