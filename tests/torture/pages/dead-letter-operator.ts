import { DeadLetterResolved, StoredDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { z } from 'zod';
import type { History } from '../history.ts';
import { holdFor } from '../fault-runner.ts';
import { nextCall, historyValue } from '../workload/caller.ts';
import { type Page, postAsPage } from './page-caller.ts';

const EVERY_MS = 1_500;
const LIMIT = 100;
const AT_ONCE = 4;

const Listed = z.object({ items: z.array(StoredDeadLetter) });

/** The resolution by any operator, or undefined when unknown. The gateway sets the user name. */
export const settleLetter = async (
  page: Page,
  history: History,
  { id }: StoredDeadLetter,
  action: 'retry' | 'drop',
): Promise<DeadLetterResolved['action'] | undefined> => {
  const about = { actor: page.name, op: `dlq.${action}`, key: id, call: nextCall() };
  history.add({ ...about, type: 'invoke', value: { id } });
  try {
    const answer = await postAsPage(page, `dlq/${action}`, { id });
    history.add({ ...about, type: 'ok', value: historyValue(answer) });
    return DeadLetterResolved.parse(answer).action;
  } catch (error) {
    // The dead letter stays, or another operator resolved it: nothing follows from an unknown outcome.
    history.add({ ...about, type: 'info', value: String(error) });
    return undefined;
  }
};

export const listLetters = async (page: Page): Promise<readonly StoredDeadLetter[]> =>
  Listed.parse(await postAsPage(page, 'dlq/list', { limit: LIMIT })).items;

/** An operator who resolves dead letters on two pages at once until the end of the run. */
export const startLetterKeeper = (
  [page, other]: readonly [Page, Page],
  history: History,
): { readonly stop: () => Promise<void> } => {
  const over = new AbortController();
  const { random } = page;

  const settleSome = async (): Promise<void> => {
    const deadLetters = random.shuffle(await listLetters(page)).slice(0, AT_ONCE);
    await Promise.all(
      deadLetters.flatMap((letter) => {
        const action = random.pick(['retry', 'drop'] as const);
        const first = settleLetter(page, history, letter, action);
        // At the same moment on another process, perhaps with another action.
        return random.chance(0.5)
          ? [first, settleLetter(other, history, letter, random.pick(['retry', 'drop']))]
          : [first];
      }),
    );
  };

  const work = async (): Promise<void> => {
    while (!over.signal.aborted) {
      await settleSome().catch((error: unknown) =>
        history.add({ note: `dead letters cannot be looked at: ${String(error)}` }),
      );
      await holdFor(EVERY_MS, over.signal);
    }
  };
  const working = work();
  return {
    stop: async () => {
      over.abort();
      await working;
    },
  };
};
