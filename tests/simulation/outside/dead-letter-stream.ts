import { DeadLetter, DeadLetterResolved } from '@holdpoint/contracts/bus/dead-letter';
import { SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import type { StoredDeadLetter, DeadLetters } from '@holdpoint/runtime/bus/dead-letters';
import type { WireMessage } from '@holdpoint/runtime/engine/ports';
import type { Life } from '../process-life.ts';
import type { Timeline } from '../timeline.ts';
import type { Weather } from '../faults/fault-rates.ts';

export type LetterBox = {
  readonly keep: (sequence: number, wire: WireMessage) => void;
  readonly wipe: () => void;
  readonly find: (sequence: number) => StoredDeadLetter | undefined;
  /** Every stored resolution of a dead letter, in order. */
  readonly statementsOn: (sequence: number) => readonly DeadLetterResolved[];
  readonly connect: (life: Life) => DeadLetters;
};

export const createLetterBox = (
  timeline: Timeline,
  weather: Weather,
  isAway: () => boolean,
  lettered: (letter: StoredDeadLetter, id: string) => void,
): LetterBox => {
  const letters = new Map<number, StoredDeadLetter>();
  const statements = new Map<number, DeadLetterResolved[]>();

  const connect = (life: Life): DeadLetters => {
    const ask = <Value>(place: string, look: () => Value): Promise<Value> =>
      new Promise((resolve, reject) => {
        timeline.in(weather.latency(`${life.name} ${place}`), () => {
          const away = isAway();
          const value = look();
          timeline.in(weather.latency(`${life.name} ${place} <`), () =>
            life.enter(() => (away ? reject(new Error('the bus does not answer')) : resolve(value))),
          );
        });
      });
    return {
      find: (sequence) => ask(`letter ${String(sequence)}`, () => letters.get(sequence)),
      // The first resolution counts, as in the real store.
      settled: (after) =>
        ask(
          'settled letters',
          () =>
            new Map(
              [...statements].flatMap(([sequence, [first]]) =>
                first === undefined || sequence < after ? [] : [[sequence, first] as const],
              ),
            ),
        ),
    };
  };

  return {
    connect,
    keep: (sequence, { subject, body, headers }) => {
      const content = JSON.parse(body) as unknown;
      const service = SERVICES.find((each) => subjects.deadLetter(each) === subject);
      if (service !== undefined) {
        const letter = { sequence, service, letter: DeadLetter.parse(content) };
        letters.set(sequence, letter);
        lettered(letter, headers[0]?.[1] ?? '');
        return;
      }
      const settled = DeadLetterResolved.parse(content);
      statements.set(settled.sequence, [...(statements.get(settled.sequence) ?? []), settled]);
    },
    wipe: () => {
      letters.clear();
      statements.clear();
    },
    find: (sequence) => letters.get(sequence),
    statementsOn: (sequence) => statements.get(sequence) ?? [],
  };
};
