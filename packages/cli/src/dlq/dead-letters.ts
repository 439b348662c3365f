import {
  type DeadLetterId,
  deadLetterPlace,
  type DeadLetterResolved,
  type ResolveDeadLetter,
  type StoredDeadLetter,
} from '@holdpoint/contracts/bus/dead-letter';
import { type ServiceName, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Client } from '../bus/client.ts';
import { UsageError } from '../kit/usage-error.ts';
import { columns, instant, listing, shorten } from '../output/columns.ts';
import { printableLines } from '../output/printable.ts';

const BODY_SHOWN = 80;
const PAGE_MAX = 100;

type Caller = Pick<Client, 'call'>;

const serviceOf = (id: DeadLetterId): ServiceName => {
  const named = deadLetterPlace(id);
  if (named === undefined)
    throw new UsageError(`${id} is no dead letter: use an id of \`holdpoint dlq list\``);
  return named.service;
};

const listOf = async (
  { call }: Caller,
  service: ServiceName,
  limit: number,
): Promise<readonly StoredDeadLetter[]> => {
  const found: StoredDeadLetter[] = [];
  for (let before: DeadLetterId | undefined; found.length < limit;) {
    const { items, next } = await call(service, 'dead_letter_list', {
      limit: Math.min(PAGE_MAX, limit - found.length),
      ...(before !== undefined && { before }),
    });
    found.push(...items);
    if (next === undefined) break;
    before = next;
  }
  return found;
};

export type ListedDeadLetters = {
  readonly items: readonly StoredDeadLetter[];
  /** Services that do not answer. */
  readonly silent: readonly ServiceName[];
};

/** The latest unresolved dead letters of all services that answer, newest first. Throws when none answers. */
export const listDeadLetters = async (client: Caller, limit: number): Promise<ListedDeadLetters> => {
  const found = await Promise.allSettled(SERVICES.map((service) => listOf(client, service, limit)));
  const items: StoredDeadLetter[] = [];
  const silent: ServiceName[] = [];
  found.forEach((each, index) => {
    if (each.status === 'fulfilled') items.push(...each.value);
    else if (hasCode(each.reason, 'RUNTIME_UNAVAILABLE')) silent.push(...SERVICES.slice(index, index + 1));
    else throw each.reason;
  });
  if (silent.length === SERVICES.length)
    throw new HoldpointError('RUNTIME_UNAVAILABLE', 'no service answers: check that they run');
  return { items: items.toSorted((a, b) => b.letter.at - a.letter.at).slice(0, limit), silent };
};

export const showDeadLetter = async ({ call }: Caller, id: DeadLetterId): Promise<StoredDeadLetter> =>
  call(serviceOf(id), 'dead_letter_get', { id });

/** Resolves a dead letter through its service. If it is resolved already, returns the earlier resolution. */
export const resolveDeadLetter = async (
  { call }: Caller,
  request: ResolveDeadLetter,
): Promise<DeadLetterResolved> => call(serviceOf(request.id), 'dead_letter_resolve', request);

const RESOLUTIONS = { retry: 'retried', drop: 'dropped' } as const;

export const resolutionText = (
  { id, action, by, at }: DeadLetterResolved,
  requested: ResolveDeadLetter['action'],
): string =>
  `dead letter ${id} ${action === requested ? 'is' : 'was already'} ${RESOLUTIONS[action]}: ${by}, ${instant(at)}`;

export const deadLetterListText = ({ items, silent }: ListedDeadLetters): readonly string[] => [
  ...(items.length === 0
    ? ['no dead letters']
    : listing(
        ['Id', 'Time', 'Reason', 'Subject', 'Body'],
        items.map(({ id, letter: { at, reason, subject, body } }) => [
          id,
          instant(at),
          reason.code,
          subject,
          shorten(body, BODY_SHOWN),
        ]),
      )),
  ...silent.map((service) => `${service} does not answer: its dead letters are missing`),
];

export const deadLetterText = ({ id, service, letter, resolution }: StoredDeadLetter): readonly string[] => [
  ...columns([
    ['dead letter', id],
    ['service', service],
    ['subject', letter.subject],
    ['reason', `${letter.reason.code}: ${letter.reason.message}`],
    ['arrived', instant(letter.at)],
    ['deliveries', String(letter.deliveries)],
    ['body', `${String(letter.bodyBytes)} bytes, SHA-256 ${letter.bodySha256}`],
    ...(resolution === undefined
      ? []
      : [
          [
            'resolved',
            `${RESOLUTIONS[resolution.action]} by ${resolution.by}, ${instant(resolution.at)}`,
          ] as const,
        ]),
  ]),
  'headers',
  ...columns(Object.entries(letter.headers), '  '),
  'body',
  ...printableLines(letter.body).map((line) => `  ${line}`),
];
