import type { DeadLetterResolved, ResolveDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { cloudEventHeaders, HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { type ErrorBody, ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { type ServiceName, subjects } from '@holdpoint/contracts/bus/subjects';
import type { Engine } from '../engine/engine.ts';
import { parseJson, type Routed } from '../engine/inbound.ts';
import type { Inbound } from '../engine/intake.ts';
import type { Addressed } from '../engine/kinds.ts';
import type { Letter, Letters } from './dead-letters.ts';

/**
 * Throws `RUNTIME_UNKNOWN_LETTER`, `RUNTIME_LETTER_CUT`, or whatever stands against the message by now; the letter stays then.
 * One that is settled already is answered with what became of it.
 */
export type DeadLetterResolver = (letter: ResolveDeadLetter) => Promise<DeadLetterResolved>;

export type DeadLetterOptions<To extends Addressed> = {
  readonly service: ServiceName;
  readonly letters: Letters;
  readonly inbound: readonly Inbound<To>[];
  readonly engine: Pick<Engine<To>, 'accept' | 'post'>;
  readonly now: () => number;
};

/** People settle them one by one, and each is in the stream a moment later. */
const STATED_MAX = 1_000;

/** Whether a filter, with its wildcards, lets a subject through. */
const passes = (filter: string, subject: string): boolean => {
  const [wanted, tokens] = [filter.split('.'), subject.split('.')];
  return (
    (wanted.at(-1) === '>' ? tokens.length >= wanted.length : tokens.length === wanted.length) &&
    wanted.every((token, i) => token === '>' || token === '*' || token === tokens[i])
  );
};

const headerIn = ({ headers }: Letter['letter'], name: string): string | undefined =>
  Object.entries(headers).find(([each]) => each.toLowerCase() === name.toLowerCase())?.[1];

const refusal = ({ code, message, details }: ErrorBody): HoldpointError => {
  const known = ErrorCode.safeParse(code);
  return new HoldpointError(known.success ? known.data : 'RUNTIME_POISON', message, details && { details });
};

/** What the message is to the service, exactly as it came the first time: a repeat of it is known by the same id. */
const routedFrom = <To extends Addressed>(
  { sequence, letter }: Letter,
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
 * Handles a dead letter of this service once more, or drops it. Nothing is published for it, so that nobody needs the right to
 * send what others send: the service takes in what it has put aside itself. What became of it is stated beside it.
 */
export const createDeadLetterActions = <To extends Addressed>({
  service,
  letters,
  inbound,
  engine,
  now,
}: DeadLetterOptions<To>): DeadLetterResolver => {
  const underWay = new Map<number, Promise<DeadLetterResolved>>();
  /** What is committed and need not stand in the stream yet, where the next who asks would look for it. */
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
        // The same for whoever states it, so that the stream itself takes but one of two that come at once.
        id: `dlq.${service}.settled.${String(sequence)}`,
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
    // Where the stream was made anew its numbers begin anew: that letter was another one.
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
    // Whoever asks meanwhile waits, and is told the same: unless it came to nothing, and then it is tried for him.
    for (let before = underWay.get(sequence); before !== undefined; before = underWay.get(sequence))
      await before.catch(() => undefined);
    const mine = settle(wanted).finally(() => underWay.delete(sequence));
    underWay.set(sequence, mine);
    return mine;
  };
};
