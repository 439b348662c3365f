import {
  BODY_MAX_BYTES,
  DeadLetter,
  DeadLetterResolved,
  type ResolveDeadLetter,
} from '@holdpoint/contracts/bus/dead-letter';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import type { streams } from '@holdpoint/contracts/bus/streams';
import { SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import {
  JetStreamApiError,
  type JetStreamManager,
  jetstreamManager,
  type StoredMsg,
} from '@nats-io/jetstream';
import type { NatsConnection } from '@nats-io/transport-node';
import type { Client } from '../bus/client.ts';
import { columns, instant, listing, shorten } from '../output/columns.ts';
import { UsageError } from '../kit/usage-error.ts';
import { printableLines } from '../output/printable.ts';

const STREAM: (typeof streams)[number]['name'] = 'HP_DLQ';
const BODY_SHOWN = 80;
const NOT_FOUND = 404;

/** A dead letter and its sequence in the stream, which identifies it in commands. */
export type StoredDeadLetter = {
  readonly sequence: number;
  readonly service: string;
  readonly letter: DeadLetter;
};

/** Shows an unreadable message as it is, so that it does not hide the others. */
const unreadableDeadLetter = (stored: StoredMsg): DeadLetter => ({
  subject: stored.subject,
  reason: { code: 'CONTRACT_INVALID', message: 'not a dead letter' },
  headers: {},
  body: new TextDecoder().decode(stored.data.subarray(0, BODY_MAX_BYTES)),
  bodyBytes: stored.data.length,
  bodySha256: sha256Of(stored.data),
  deliveries: 1,
  at: stored.time.getTime(),
});

/** The sequence that this message resolves, if it records a retry or a drop. */
const resolvedSequence = (stored: StoredMsg): number | undefined => {
  if (!SERVICES.some((service) => subjects.resolvedDeadLetter(service) === stored.subject)) return undefined;
  try {
    return DeadLetterResolved.safeParse(stored.json()).data?.sequence;
  } catch {
    return undefined;
  }
};

const parseDeadLetter = (stored: StoredMsg): DeadLetter | undefined => {
  try {
    return DeadLetter.safeParse(stored.json()).data;
  } catch {
    // Not JSON, or nested too deeply.
    return undefined;
  }
};

const storedDeadLetter = (stored: StoredMsg): StoredDeadLetter => ({
  sequence: stored.seq,
  service: stored.subject.split('.')[2] ?? '',
  letter: parseDeadLetter(stored) ?? unreadableDeadLetter(stored),
});

const isNotFound = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.status === NOT_FOUND;

const load = async (manager: JetStreamManager, sequence: number): Promise<StoredMsg | undefined> => {
  try {
    return (await manager.streams.getMessage(STREAM, { seq: sequence })) ?? undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
};

/** The latest unresolved dead letters, newest first. */
export const listDeadLetters = async (
  connection: NatsConnection,
  limit: number,
): Promise<readonly StoredDeadLetter[]> => {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const { state } = await manager.streams.info(STREAM).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    throw new HoldpointError('RUNTIME_UNAVAILABLE', `no stream ${STREAM}: check that the orchestrator runs`, {
      cause: error,
    });
  });
  const buried: StoredDeadLetter[] = [];
  // A resolution is stored after its dead letter, so reading backwards finds it first.
  const settled = new Set<number>();
  for (
    let sequence = state.last_seq;
    sequence >= Math.max(state.first_seq, 1) && buried.length < limit;
    sequence -= 1
  ) {
    if (settled.has(sequence)) continue;
    const stored = await load(manager, sequence);
    const about = stored && resolvedSequence(stored);
    if (about !== undefined) settled.add(about);
    else if (stored !== undefined) buried.push(storedDeadLetter(stored));
  }
  return buried;
};

export const showDeadLetter = async (
  connection: NatsConnection,
  sequence: number,
): Promise<StoredDeadLetter> => {
  const stored = await load(await jetstreamManager(connection, { checkAPI: false }), sequence);
  if (stored === undefined) throw new UsageError(`no dead letter ${String(sequence)}`);
  return storedDeadLetter(stored);
};

/** Resolves a dead letter through its service. If it is resolved already, returns the earlier resolution. */
export const resolveDeadLetter = async (
  { connection, call }: Pick<Client, 'connection' | 'call'>,
  request: ResolveDeadLetter,
): Promise<DeadLetterResolved> => {
  const { service } = await showDeadLetter(connection, request.sequence);
  const owner = SERVICES.find((each) => each === service);
  if (owner === undefined)
    throw new UsageError(`dead letter ${String(request.sequence)} belongs to no service`);
  return call(owner, 'dead_letter', request);
};

const RESOLUTIONS = { retry: 'retried', drop: 'dropped' } as const;

export const resolutionText = (
  { sequence, action, by, at }: DeadLetterResolved,
  requested: ResolveDeadLetter['action'],
): string =>
  `dead letter ${String(sequence)} ${action === requested ? 'is' : 'was already'} ${RESOLUTIONS[action]}: ${by}, ${instant(at)}`;

export const deadLetterListText = (buried: readonly StoredDeadLetter[]): readonly string[] =>
  buried.length === 0
    ? ['no dead letters']
    : listing(
        ['Number', 'Time', 'Service', 'Reason', 'Subject', 'Body'],
        buried.map(({ sequence, service, letter: { at, reason, subject, body } }) => [
          String(sequence),
          instant(at),
          service,
          reason.code,
          subject,
          shorten(body, BODY_SHOWN),
        ]),
      );

export const deadLetterText = ({ sequence, service, letter }: StoredDeadLetter): readonly string[] => [
  ...columns([
    ['dead letter', String(sequence)],
    ['service', service],
    ['subject', letter.subject],
    ['reason', `${letter.reason.code}: ${letter.reason.message}`],
    ['arrived', instant(letter.at)],
    ['deliveries', String(letter.deliveries)],
    ['body', `${String(letter.bodyBytes)} bytes, SHA-256 ${letter.bodySha256}`],
  ]),
  'headers',
  ...columns(Object.entries(letter.headers), '  '),
  'body',
  ...printableLines(letter.body).map((line) => `  ${line}`),
];
