import type { ResolveDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { BusOverview, StoredDeadLetter } from '@holdpoint/runtime/bus/bus-overview';
import type { Answer, Listener } from '@holdpoint/runtime/bus/listener';
import type { DeadLetterResolver } from '@holdpoint/runtime/bus/dead-letter-actions';
import { z } from 'zod';
import { errorFrom } from './gateway.ts';

const ListDeadLetters = z.object({
  limit: z.int().min(1).max(100).default(20),
  /** The `next` of the previous page. */
  after: z
    .string()
    .regex(/^\d{1,15}$/, 'the `next` of the previous page')
    .optional(),
});
const Named = z.object({ seq: z.int().min(1) });

export type DeadLetterPage = {
  readonly items: readonly {
    readonly seq: number;
    readonly service: ServiceName;
    readonly letter: StoredDeadLetter['letter'];
  }[];
  readonly next?: string;
};

export type DeadLetterParts = {
  readonly look: Pick<BusOverview, 'letters' | 'letter'>;
  readonly listener: Pick<Listener, 'call'>;
  /** Resolves a dead letter of this service. */
  readonly resolveDeadLetter: DeadLetterResolver;
};

const fromBus = async <Value>(call: Promise<Value>): Promise<Value> => {
  try {
    return await call;
  } catch (cause) {
    throw new HoldpointError('RUNTIME_UNAVAILABLE', 'the bus does not answer; try again', { cause });
  }
};

/**
 * Dead letters in the console. They are read from the bus, and resolved by the service that could not handle
 * them.
 */
export const createDeadLetters = ({ look, listener, resolveDeadLetter: resolveOwn }: DeadLetterParts) => {
  const resolve = async (action: 'retry' | 'drop', body: JsonObject, by: string): Promise<unknown> => {
    const { seq: sequence } = parseAs(Named, body);
    const letter = await fromBus(look.letter(sequence));
    if (letter === undefined)
      throw new HoldpointError('RUNTIME_UNKNOWN_LETTER', `unknown dead letter: ${String(sequence)}`);
    const request: ResolveDeadLetter = { sequence, action, by };
    const answer: Answer =
      letter.service === 'approvals'
        ? { ok: await resolveOwn(request) }
        : await listener.call(letter.service, 'dead_letter', request);
    if ('error' in answer) throw errorFrom(answer.error);
    return answer.ok;
  };

  return {
    list: async (body: JsonObject): Promise<DeadLetterPage> => {
      const { limit, after } = parseAs(ListDeadLetters, body);
      const before = after === undefined ? undefined : Number(after);
      const { items, next } = await fromBus(look.letters(limit, before));
      return {
        items: items.map(({ sequence: seq, service, letter }) => ({ seq, service, letter })),
        ...(next !== undefined && { next: String(next) }),
      };
    },
    retry: (body: JsonObject, by: string) => resolve('retry', body, by),
    drop: (body: JsonObject, by: string) => resolve('drop', body, by),
  };
};
