import { DeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { until } from '../until.ts';

export type SeenLetter = DeadLetter & { readonly service: string };

export type DeadLetters = {
  readonly all: () => readonly SeenLetter[];
  /** Those of a message, by its `ce-id`. */
  readonly of: (id: string) => readonly SeenLetter[];
  /** Waits for the letter of a message; that of one service, where several read it. */
  readonly next: (id: string, service?: string) => Promise<SeenLetter>;
};

/** Everything that goes to the dead letters from now on, as anybody can watch it. */
export const watchDeadLetters = async (connection: NatsConnection): Promise<DeadLetters> => {
  const seen: SeenLetter[] = [];
  connection.subscribe(filters.deadLetters, {
    callback: (_error, msg) => {
      // What became of one is said beside it.
      if (msg.subject.endsWith('.resolved')) return;
      seen.push({ ...DeadLetter.parse(msg.json()), service: msg.subject.split('.').at(-1) ?? '' });
    },
  });
  await connection.flush();
  const of = (id: string): readonly SeenLetter[] => seen.filter(({ headers }) => headers['ce-id'] === id);
  return {
    all: () => seen,
    of,
    next: (id, service) =>
      until(`${id} is among the dead letters`, () =>
        of(id).find((letter) => service === undefined || letter.service === service),
      ),
  };
};
