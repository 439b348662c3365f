import {
  type DeadLetterResolved,
  deadLetterPlace,
  type ResolveDeadLetter,
} from '@holdpoint/contracts/bus/dead-letter';
import { type ErrorBody, ErrorCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { matches, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { headerIn, identityIn } from '../engine/dead-letter.ts';
import type { Engine } from '../engine/engine.ts';
import { parseJson, type Routed } from '../engine/inbound.ts';
import type { Inbound } from '../engine/intake.ts';
import type { Addressed } from '../engine/kinds.ts';
import type { DeadLetterStore, KeptDeadLetter } from '../engine/ports.ts';
import { type CheckSeal, sealRefusal } from '../engine/seals.ts';

/** The wish of a person. */
export type WantedResolution = ResolveDeadLetter & { readonly by: string };

/**
 * Throws `RUNTIME_DEAD_LETTER_UNKNOWN`, `RUNTIME_DEAD_LETTER_TRUNCATED`, or the refusal of the message; the dead letter
 * then stays unresolved. A dead letter that is already resolved is answered with its resolution.
 */
export type DeadLetterResolver = (letter: WantedResolution) => Promise<DeadLetterResolved>;

export type DeadLetterOptions<To extends Addressed> = {
  readonly service: ServiceName;
  readonly letters: DeadLetterStore;
  readonly inbound: readonly Inbound<To>[];
  readonly engine: Pick<Engine<To>, 'accept'>;
  readonly now: () => number;
  readonly checkSeal: CheckSeal;
};

export const unknownDeadLetter = (id: string): HoldpointError =>
  new HoldpointError('RUNTIME_DEAD_LETTER_UNKNOWN', `unknown dead letter: ${id}`);

const refusal = ({ code, message, details }: ErrorBody): HoldpointError => {
  const known = ErrorCode.safeParse(code);
  return new HoldpointError(known.success ? known.data : 'RUNTIME_POISON', message, details && { details });
};

/**
 * Handles a dead letter of this service again, or drops it. The message is not published again, so no service
 * needs the right to send messages of another.
 */
export const createDeadLetterActions = <To extends Addressed>({
  service,
  letters,
  inbound,
  engine,
  now,
  checkSeal,
}: DeadLetterOptions<To>): DeadLetterResolver => {
  const underWay = new Map<string, Promise<DeadLetterResolved>>();

  /** The message as it was decoded the first time: a repeat keeps its id. */
  const routedFrom = ({ id, letter, body }: KeptDeadLetter): Routed<To> | undefined => {
    const { subject, headers } = letter;
    if (body.length !== letter.bodyBytes || sha256Of(body) !== letter.bodySha256)
      throw new HoldpointError(
        'RUNTIME_DEAD_LETTER_TRUNCATED',
        'the dead letter has only a part of its message: ask the sender to send it again',
      );
    const header = (name: string): string | undefined => headerIn(headers, name);
    const problem = sealRefusal(checkSeal, { subject, data: body, header });
    if (problem !== undefined) throw refusal(problem);
    const reader = inbound.find(({ consumer }) => matches(consumer.filter, subject));
    if (reader?.wants?.(subject) === false) return undefined;
    // Without its time and headers: its sender is no longer proven.
    return reader?.decode(subject, parseJson(body), { identity: identityIn(headers) ?? id });
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

  const settle: DeadLetterResolver = async ({ id, action, by }) => {
    const named = deadLetterPlace(id);
    const kept = named?.service === service ? await letters.find(named.place) : undefined;
    if (named === undefined || kept === undefined) throw unknownDeadLetter(id);
    if (kept.resolution !== undefined) return kept.resolution;
    if (action === 'retry') {
      const routed = routedFrom(kept);
      if (routed !== undefined) await handle(routed);
    }
    // Another process may have resolved it meanwhile: the first resolution counts, and deciding twice changed nothing.
    const resolution = await letters.resolve(named.place, { id, action, by, at: now() });
    if (resolution === undefined) throw unknownDeadLetter(id);
    return resolution;
  };

  return async (wanted) => {
    const { id } = wanted;
    // A second request waits for the first and gets its result. If the first failed, the second tries again.
    for (let before = underWay.get(id); before !== undefined; before = underWay.get(id))
      await before.catch(() => undefined);
    const mine = settle(wanted).finally(() => underWay.delete(id));
    underWay.set(id, mine);
    return mine;
  };
};
