import { DeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { filters } from '@holdpoint/contracts/bus/subjects';
import type { NatsConnection } from '@nats-io/transport-node';
import { until } from '../until.ts';

export type SeenLetter = DeadLetter & { readonly service: string };

export type DeadLetters = {
  readonly all: () => readonly SeenLetter[];
  /** The dead letters of a message, by its `ce-id`. */
  readonly of: (id: string) => readonly SeenLetter[];
  /** Waits for the dead letter of a message; for that of one service when several read it. */
  readonly next: (id: string, service?: string) => Promise<SeenLetter>;
};

/** Every dead letter from now on, as any bus user can watch them. */
export const watchDeadLetters = async (connection: NatsConnection): Promise<DeadLetters> => {
  const seen: SeenLetter[] = [];
  connection.subscribe(filters.deadLetters, {
    callback: (_error, msg) => {
      // Resolutions arrive on a subject of their own.
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
