import { CircuitEvent, type ReportCircuit } from '@holdpoint/contracts/circuit';
import { filters, subjects } from '@holdpoint/contracts/subjects';
import type { Clock } from '@holdpoint/runtime/clock';
import type { Listener } from '@holdpoint/runtime/nats/listener';
import type { Announce } from '@holdpoint/runtime/ports';
import type { Circuits, Said } from './circuits.ts';

/** Facts come at once; this finds what was missed while the bus was away. */
const ASK_EVERY_MS = 3_000;
const PAGE = 500;
/** More circuits than this are more targets than executors are ever given. */
const PAGES_MAX = 20;

const saidIn = (event: CircuitEvent): Said => {
  const { target } = event;
  switch (event.type) {
    case 'circuit_opened':
      return { target, state: 'open' };
    case 'circuit_half_opened':
      return { target, state: 'half_open', executor: event.executor };
    case 'circuit_closed':
      return { target, state: 'closed' };
  }
};

/** Tells recovery; on its way it is kept by the bus, until recovery is there. */
export const tellRecovery =
  (announce: Announce) =>
  (report: ReportCircuit): boolean =>
    announce(subjects.recoveryCommand('circuit'), JSON.stringify(report));

/** Hears what recovery says of circuits: each change, and, every few seconds, how all of them stand. */
export const followRecovery = (
  listener: Listener,
  circuits: Pick<Circuits, 'hear' | 'hearAll'>,
  clock: Clock,
): { readonly stop: () => void } => {
  listener.listen(filters.circuitFacts, (_subject, body) => {
    const fact = CircuitEvent.safeParse(body);
    if (fact.success) circuits.hear(saidIn(fact.data));
  });

  const askForAll = async (): Promise<readonly Said[] | undefined> => {
    const all: Said[] = [];
    let after: string | undefined;
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const answer = await listener.ask('recovery', 'circuits', {
        limit: PAGE,
        ...(after !== undefined && { after }),
      });
      if (answer === undefined) return undefined;
      all.push(...answer.items);
      after = answer.next;
      if (after === undefined) return all;
    }
    return all;
  };

  let busy = false;
  const ask = async (): Promise<void> => {
    if (busy) return;
    busy = true;
    const askedAt = clock.now();
    const all = await askForAll();
    busy = false;
    if (all !== undefined) circuits.hearAll(all, askedAt);
  };

  void ask();
  return { stop: clock.every(ASK_EVERY_MS, () => void ask()) };
};
