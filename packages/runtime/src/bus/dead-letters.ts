import { DeadLetter, DeadLetterResolved } from '@holdpoint/contracts/bus/dead-letter';
import type { streams } from '@holdpoint/contracts/bus/streams';
import {
  filters,
  type ServiceName,
  SERVICES,
  type Subject,
  subjects,
} from '@holdpoint/contracts/bus/subjects';
import { type JetStreamManager, jetstreamManager, type StoredMsg } from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';

const STREAM: (typeof streams)[number]['name'] = 'HP_DLQ';
/** People settle them one by one: more than this is not looked through. */
const SETTLED_MAX = 5_000;

/** A dead letter and its number in the stream, which is its name. */
export type Letter = {
  readonly sequence: number;
  readonly service: ServiceName;
  readonly letter: DeadLetter;
};

export interface Letters {
  /** Undefined when there is none of this number, or none any more. */
  find(sequence: number): Promise<Letter | undefined>;
  /** What became of those of these subjects that are settled, by their numbers. */
  settled(after: number, filter?: string): Promise<ReadonlyMap<number, DeadLetterResolved>>;
}

const readAs = <Value>(
  stored: StoredMsg,
  schema: { safeParse(value: unknown): { readonly data?: Value } },
): Value | undefined => {
  try {
    return schema.safeParse(stored.json()).data;
  } catch {
    // Not JSON, or nested without end: it is none either way.
    return undefined;
  }
};

const ownerOf = (subject: string): ServiceName | undefined =>
  SERVICES.find((service) => subjects.deadLetter(service) === (subject as Subject));

/** The next message of a subject from a place on. Undefined when there is none: no stream either. */
export const nextOf = async (
  manager: JetStreamManager,
  stream: string,
  subject: string,
  from: number,
): Promise<StoredMsg | undefined> =>
  (await manager.direct.getMessage(stream, { seq: from, next_by_subj: subject })) ?? undefined;

/** Dead letters are read one by one: that takes no consumer, and so no right to make any. Everything throws when the bus is away. */
export const createDeadLetters = (connection: NatsConnection): Letters => {
  const manager = jetstreamManager(connection, { checkAPI: false });
  return {
    find: async (sequence) => {
      const stored = await (await manager).direct.getMessage(STREAM, { seq: sequence });
      const service = stored === null ? undefined : ownerOf(stored.subject);
      const letter = stored === null ? undefined : readAs(stored, DeadLetter);
      return service === undefined || letter === undefined ? undefined : { sequence, service, letter };
    },
    settled: async (after, filter = filters.resolvedDeadLetters) => {
      const found = new Map<number, DeadLetterResolved>();
      const jsm = await manager;
      let from = after + 1;
      for (let looks = 0; looks < SETTLED_MAX; looks += 1) {
        const stored = await nextOf(jsm, STREAM, filter, from);
        if (stored === undefined) break;
        const settled = readAs(stored, DeadLetterResolved);
        // Two processes may be asked at the same moment: what was stated first stands.
        if (settled !== undefined && !found.has(settled.sequence)) found.set(settled.sequence, settled);
        from = stored.seq + 1;
      }
      return found;
    },
  };
};
