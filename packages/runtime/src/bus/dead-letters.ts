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
/** Maximum resolutions that one call reads: operators resolve dead letters one by one. */
const SETTLED_MAX = 5_000;

/** A dead letter and its number in the stream, by which users refer to it. */
export type StoredDeadLetter = {
  readonly sequence: number;
  readonly service: ServiceName;
  readonly letter: DeadLetter;
};

export interface DeadLetters {
  /** Undefined when there is no dead letter of this number, or no longer. */
  find(sequence: number): Promise<StoredDeadLetter | undefined>;
  /** The resolutions on these subjects, by the number of the dead letter. */
  settled(after: number, filter?: string): Promise<ReadonlyMap<number, DeadLetterResolved>>;
}

const readAs = <Value>(
  stored: StoredMsg,
  schema: { safeParse(value: unknown): { readonly data?: Value } },
): Value | undefined => {
  try {
    return schema.safeParse(stored.json()).data;
  } catch {
    // Not JSON, or nested too deeply.
    return undefined;
  }
};

const ownerOf = (subject: string): ServiceName | undefined =>
  SERVICES.find((service) => subjects.deadLetter(service) === (subject as Subject));

/** The next message of a subject from a stream position on. Undefined when there is none, or no stream. */
export const nextMessage = async (
  manager: JetStreamManager,
  stream: string,
  subject: string,
  from: number,
): Promise<StoredMsg | undefined> =>
  (await manager.direct.getMessage(stream, { seq: from, next_by_subj: subject })) ?? undefined;

/**
 * Reads dead letters one by one, without a consumer, so that no right to create consumers is needed. Throws
 * when the bus is away.
 */
export const createDeadLetters = (connection: NatsConnection): DeadLetters => {
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
        const stored = await nextMessage(jsm, STREAM, filter, from);
        if (stored === undefined) break;
        const settled = readAs(stored, DeadLetterResolved);
        // Two processes may resolve it at the same moment: the first resolution counts.
        if (settled !== undefined && !found.has(settled.sequence)) found.set(settled.sequence, settled);
        from = stored.seq + 1;
      }
      return found;
    },
  };
};
