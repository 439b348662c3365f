import type { DeadLetterResolved, ResolveDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { cloudEventHeaders, HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { type ErrorBody, ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import type { Engine } from '../engine/engine.ts';
import { parseJson, type Routed } from '../engine/inbound.ts';
import type { Inbound } from '../engine/intake.ts';
import type { Addressed } from '../engine/kinds.ts';
import type { StoredDeadLetter, DeadLetters } from './dead-letters.ts';

/**
 * Throws `RUNTIME_UNKNOWN_LETTER`, `RUNTIME_LETTER_CUT`, or the refusal of the message; the dead letter then
 * stays unresolved. A dead letter that is already resolved is answered with its resolution.
 */
export type DeadLetterResolver = (letter: ResolveDeadLetter) => Promise<DeadLetterResolved>;

export type DeadLetterOptions<To extends Addressed> = {
  readonly service: ServiceName;
  readonly letters: DeadLetters;
  readonly inbound: readonly Inbound<To>[];
  readonly engine: Pick<Engine<To>, 'accept' | 'post'>;
  readonly now: () => number;
};

/** Operators resolve dead letters one by one, and each resolution is in the stream a moment later. */
const STATED_MAX = 1_000;

/** Whether a filter with wildcards matches a subject. */
const passes = (filter: string, subject: string): boolean => {
  const [wanted, tokens] = [filter.split('.'), subject.split('.')];
  return (
    (wanted.at(-1) === '>' ? tokens.length >= wanted.length : tokens.length === wanted.length) &&
    wanted.every((token, i) => token === '>' || token === '*' || token === tokens[i])
  );
};

const headerIn = ({ headers }: StoredDeadLetter['letter'], name: string): string | undefined =>
  Object.entries(headers).find(([each]) => each.toLowerCase() === name.toLowerCase())?.[1];

const refusal = ({ code, message, details }: ErrorBody): HoldpointError => {
  const known = ErrorCode.safeParse(code);
  return new HoldpointError(known.success ? known.data : 'RUNTIME_POISON', message, details && { details });
};

/** The message as it was decoded the first time: a repeat keeps its id. */
const routedFrom = <To extends Addressed>(
  { sequence, letter }: StoredDeadLetter,
  inbound: readonly Inbound<To>[],
): Routed<To> | undefined => {
  const body = Buffer.from(letter.body);
  if (body.length !== letter.bodyBytes || sha256Of(body) !== letter.bodySha256)
    throw new HoldpointError(
      'RUNTIME_LETTER_CUT',
      `only a part of dead letter ${String(sequence)} is kept: it has to be sent again by whoever sent it`,
    );
  const reader = inbound.find(({ consumer }) => passes(consumer.filter, letter.subject));
  if (reader?.wants?.(letter.subject) === false) return undefined;
  const identity =
    headerIn(letter, HEADERS.id) ?? headerIn(letter, HEADERS.messageId) ?? `HP_DLQ/${String(sequence)}`;
  return reader?.decode(letter.subject, parseJson(body), { identity });
};

/**
 * Handles a dead letter of this service again, or drops it. The message is not published again, so no service
 * needs the right to send messages of another. The resolution is published beside the dead letter.
 */
export const createDeadLetterActions = <To extends Addressed>({
  service,
  letters,
  inbound,
  engine,
  now,
}: DeadLetterOptions<To>): DeadLetterResolver => {
  const underWay = new Map<number, Promise<DeadLetterResolved>>();
  /** Committed resolutions that the stream may not show yet. */
  const stated = new Map<number, DeadLetterResolved>();
  const remember = (settled: DeadLetterResolved): void => {
    stated.set(settled.sequence, settled);
    const [oldest] = stated.keys();
    if (stated.size > STATED_MAX && oldest !== undefined) stated.delete(oldest);
  };

  const handle = (routed: Routed<To>): Promise<void> =>
    new Promise((resolve, reject) => {
      const { defer = false, onDone } = routed;
      const refuse = (error: HoldpointError): void => {
        onDone?.();
        reject(error);
      };
      const unavailable = new HoldpointError('RUNTIME_UNAVAILABLE', 'it cannot be handled now; try again');
      if (defer) return refuse(unavailable);
      engine.accept(routed, {
        committed: (answer) => {
          if (answer !== undefined && 'error' in answer) return refuse(refusal(answer.error));
          onDone?.();
          resolve();
        },
        failed: (reason) => refuse(refusal(reason)),
        unavailable: () => refuse(unavailable),
      });
    });

  const state = (settled: DeadLetterResolved): Promise<void> =>
    new Promise((resolve) => {
      const { sequence, at } = settled;
      const headers = cloudEventHeaders({
        // The same id in every process, so that the stream drops the second of two resolutions.
        id: `dlq.${service}.resolved.${String(sequence)}`,
        source: service,
        type: 'dev.holdpoint.dead_letter_settled.v1',
        subject: service,
        time: at,
      });
      engine.post(
        { subject: subjects.resolvedDeadLetter(service), headers, body: JSON.stringify(settled) },
        () => resolve(),
      );
    });

  const settle: DeadLetterResolver = async ({ sequence, action, by = 'unknown' }) => {
    const letter = await letters.find(sequence);
    if (letter?.service !== service)
      throw new HoldpointError('RUNTIME_UNKNOWN_LETTER', `there is no dead letter ${String(sequence)}`);
    const before = (await letters.settled(sequence, subjects.resolvedDeadLetter(service))).get(sequence);
    if (before !== undefined) return before;
    const mine = stated.get(sequence);
    // A stream that was created again restarts its numbers: that was another dead letter.
    if (mine !== undefined && mine.at >= letter.letter.at) return mine;
    if (action === 'retry') {
      const routed = routedFrom(letter, inbound);
      if (routed !== undefined) await handle(routed);
    }
    const settled: DeadLetterResolved = { service, sequence, action, by, at: now() };
    await state(settled);
    remember(settled);
    return settled;
  };

  return async (wanted) => {
    const { sequence } = wanted;
    // A second request waits for the first and gets its result. If the first failed, the second tries again.
    for (let before = underWay.get(sequence); before !== undefined; before = underWay.get(sequence))
      await before.catch(() => undefined);
    const mine = settle(wanted).finally(() => underWay.delete(sequence));
    underWay.set(sequence, mine);
    return mine;
  };
};
