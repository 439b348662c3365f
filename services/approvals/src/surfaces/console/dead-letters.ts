import {
  type DeadLetterId,
  deadLetterPlace,
  DeadLetterId as Id,
  type ResolveDeadLetter,
  StoredDeadLetter,
} from '@holdpoint/contracts/bus/dead-letter';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { type DeadLetterResolver, unknownDeadLetter } from '@holdpoint/runtime/bus/dead-letter-actions';
import type { Answer, Listener } from '@holdpoint/runtime/bus/listener';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import { listDeadLetters } from '@holdpoint/runtime/store/dead-letters';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { Keyring } from '../../adapters/keyring.ts';
import type { Principal } from '../../approval/state.ts';
import { errorFrom } from '../http/forward.ts';

const ListRequest = z.object({ limit: z.int().min(1).max(100).default(20) });
const Named = z.object({ id: Id });

const Page = z.object({ items: z.array(StoredDeadLetter), next: Id.optional(), open: z.int() });

export type DeadLetterList = {
  readonly items: readonly StoredDeadLetter[];
  /** More than these exist. */
  readonly more: boolean;
  /** Unresolved dead letters of each service that answers. */
  readonly open: Readonly<Partial<Record<ServiceName, number>>>;
};

export type DeadLetterParts = {
  readonly pool: Pool;
  readonly listener: Pick<Listener, 'call'>;
  readonly identify: Keyring['identify'];
  /** Resolves a dead letter of this service. */
  readonly resolveDeadLetter: DeadLetterResolver;
};

/** Dead letters of all services. Each service keeps and resolves its own. */
export const listEveryDeadLetter = async (
  { pool, listener }: Pick<DeadLetterParts, 'pool' | 'listener'>,
  limit: number,
): Promise<DeadLetterList> => {
  const pages = await Promise.all(
    SERVICES.map(async (service) => {
      const answer: Answer =
        service === 'approvals'
          ? { ok: await listDeadLetters(pool, service, limit) }
          : await listener.call(service, 'dead_letter_list', { limit });
      return { service, page: 'error' in answer ? undefined : parseAs(Page, answer.ok) };
    }),
  );
  if (pages.every(({ page }) => page === undefined))
    throw new HoldpointError('RUNTIME_UNAVAILABLE', 'no service answers; try again');
  const all = pages
    .flatMap(({ page }) => page?.items ?? [])
    .toSorted((a, b) => b.letter.at - a.letter.at || (a.id < b.id ? 1 : -1));
  return {
    items: all.slice(0, limit),
    more: all.length > limit || pages.some(({ page }) => page?.next !== undefined),
    open: Object.fromEntries(pages.flatMap(({ service, page }) => (page ? [[service, page.open]] : []))),
  };
};

export const createDeadLetters = (parts: DeadLetterParts) => {
  const { listener, identify, resolveDeadLetter: resolveOwn } = parts;
  const resolve = async (action: 'retry' | 'drop', body: JsonObject, person: Principal): Promise<unknown> => {
    const { id }: { id: DeadLetterId } = parseAs(Named, body);
    const named = deadLetterPlace(id);
    if (named === undefined) throw unknownDeadLetter(id);
    const request: ResolveDeadLetter = { id, action };
    const answer: Answer =
      named.service === 'approvals'
        ? { ok: await resolveOwn({ ...request, by: person.name }) }
        : await listener.call(named.service, 'dead_letter_resolve', request, {
            identity: identify(person, Date.now()).assertion,
          });
    if ('error' in answer) throw errorFrom(answer.error);
    return answer.ok;
  };

  return {
    list: (body: JsonObject): Promise<DeadLetterList> =>
      listEveryDeadLetter(parts, parseAs(ListRequest, body).limit),
    retry: (body: JsonObject, person: Principal) => resolve('retry', body, person),
    drop: (body: JsonObject, person: Principal) => resolve('drop', body, person),
  };
};
