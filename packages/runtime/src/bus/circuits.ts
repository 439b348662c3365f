import { CircuitEvent, type CircuitView } from '@holdpoint/contracts/recovery/circuit';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { Clock } from '../engine/clock.ts';
import type { Listener } from './listener.ts';

/** Events arrive at once. A poll follows each reconnection to the bus, and finds a restore of recovery's database. */
const ASK_EVERY_MS = 10_000;
/** Without an answer. */
const ASK_AGAIN_MS = 3_000;
const PAGE = 500;
/**
 * At the start the poll is repeated, so that a lost answer does not let a burst of orders go to a failing
 * target.
 */
const FIRST_TRIES = 3;
const TRY_AGAIN_MS = 300;

export type CircuitHandlers = {
  /** One circuit changed. */
  readonly hear: (fact: CircuitEvent) => void;
  /** The state of all circuits, and the time of the request by the clock of the process. */
  readonly hearAll: (all: readonly CircuitView[], askedAt: number) => void;
};

/** All circuits of recovery, up to `pagesMax` pages of 500; undefined when recovery does not answer. */
const askForAll = async (
  listener: Pick<Listener, 'ask'>,
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
 * Follows the circuits of recovery: every change, and a poll every ten seconds. `asked` resolves after the
 * first answer, or after three requests without one.
 */
export const followCircuits = (
  listener: Pick<Listener, 'listen' | 'ask' | 'reconnected'>,
  clock: Clock,
  pagesMax: number,
  { hear, hearAll }: CircuitHandlers,
): { readonly asked: Promise<void>; readonly stop: () => void } => {
  listener.listen(filters.circuitEvents, (_subject, body) => {
    const { data: fact } = CircuitEvent.safeParse(body);
    if (fact !== undefined) hear(fact);
  });

  let busy = false;
  /** True when recovery answered. */
  const ask = async (): Promise<boolean> => {
    if (busy) return false;
    busy = true;
    const askedAt = clock.now();
    const all = await askForAll(listener, pagesMax).finally(() => (busy = false));
    if (all !== undefined) hearAll(all, askedAt);
    return all !== undefined;
  };
  let isStopped = false;
  let callOff = (): void => undefined;
  const plan = (isAnswered: boolean): void => {
    callOff();
    if (!isStopped) callOff = clock.after(isAnswered ? ASK_EVERY_MS : ASK_AGAIN_MS, () => void askOn());
  };
  const askOn = async (): Promise<void> => plan(await ask());
  const askAtFirst = async (): Promise<void> => {
    let isAnswered = await ask();
    for (let tries = 1; !isAnswered && tries < FIRST_TRIES; tries += 1) {
      await new Promise<void>((resolve) => void clock.after(TRY_AGAIN_MS, resolve));
      isAnswered = await ask();
    }
    plan(isAnswered);
  };

  const asked = askAtFirst();
  const following = listener.reconnected(() => void askOn());
  return {
    asked,
    stop: () => {
      isStopped = true;
      callOff();
      following.stop();
    },
  };
};
