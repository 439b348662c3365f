import type { ResolveDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import { parseJson } from '@holdpoint/runtime/engine/inbound';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import { DeadLetterResolved } from '@holdpoint/contracts/bus/dead-letter';
import type { StoredDeadLetter } from '@holdpoint/runtime/bus/dead-letters';
import type { Addressed } from '@holdpoint/runtime/engine/kinds';
import { decideAgain } from '../event-states.ts';
import type { DeadLetterReply } from '../users/dead-letter-operators.ts';
import type { World } from '../world.ts';

/** Operators may act at the same time: a dead letter is resolved once, as one of them requested. */
export const watchLetters = ({ checker, bus }: World) => {
  const wanted = new Map<string, Set<string>>();
  const keyOf = ({ service, sequence }: Pick<StoredDeadLetter, 'service' | 'sequence'>): string =>
    `${service} ${String(sequence)}`;
  const replies = new Map<string, number>();

  return {
    asked: (letter: StoredDeadLetter, { action, by }: ResolveDeadLetter): void => {
      const key = keyOf(letter);
      wanted.set(key, (wanted.get(key) ?? new Set()).add(`${action} ${String(by)}`));
    },
    told: (letter: StoredDeadLetter, answer: DeadLetterReply): void => {
      if ('refused' in answer) return;
      checker.expect(
        'a dead letter is resolved only as an operator requested',
        wanted.get(keyOf(letter))?.has(`${answer.action} ${answer.by}`) === true,
        '',
        () => JSON.stringify({ letter, answer }),
      );
      replies.set(keyOf(letter), letter.sequence);
    },
    /** At the end: every answer that an operator got is in the stream, once. */
    check: (): void => {
      for (const [key, sequence] of replies) {
        // The bus may have lost the dead letter and its resolution since.
        if (bus.letters.find(sequence) === undefined) continue;
        const statements = bus.letters.statementsOn(sequence);
        // A resolution may be stored twice when its sender missed the confirmation for minutes.
        const different = new Set(statements.map((each) => JSON.stringify(each)));
        checker.expect('a dead letter is resolved once', different.size === 1, '', () =>
          JSON.stringify({ key, statements }),
        );
        checker.expect(
          'a dead letter is resolved only as an operator requested',
          statements.every(({ action, by }) => wanted.get(key)?.has(`${action} ${by}`) === true),
          '',
          () => JSON.stringify({ key, statements }),
        );
      }
    },
  };
};

/**
 * A retried dead letter was handled. When its resolution is published, its message is decided once more on
 * the stored state and must lead to no new event.
 */
export const watchRetries = <To extends Addressed, Event extends { readonly type: string }, Work>(
  { checker, books, databases, bus }: World,
  { service, kinds, inbound }: ServiceLogic<To, Event, Work>,
  engine: Pick<Engine<To>, 'accept' | 'post'>,
): Pick<Engine<To>, 'accept' | 'post'> => {
  const book = books[service];
  const versions = new Map<string, number>();

  const check = ({ sequence, action }: DeadLetterResolved): void => {
    const letter = bus.letters.find(sequence);
    if (action !== 'retry' || letter === undefined) return;
    const { subject, body, headers } = letter.letter;
    const identity = headers['ce-id'] ?? headers['Nats-Msg-Id'] ?? '';
    const routed = inbound
      .filter(({ consumer }) => bus.reads(consumer.name, subject))
      .map((each) => each.decode(subject, parseJson(Buffer.from(body)), { identity }))
      .find((each) => each !== undefined);
    routed?.onDone?.();
    if (routed === undefined) return;
    const { aggregate, message } = routed;
    // If another commit came in between, nothing can be concluded.
    const before = versions.get(aggregate) ?? book.versionOf(aggregate);
    const isGone = book.versionOf(aggregate) > 0 && !databases[service].tables.events.has(aggregate);
    if (isGone || before !== book.versionOf(aggregate)) return;
    const again = decideAgain(book, kinds, routed, databases[service].now());
    checker.expect(
      'a retried dead letter was handled',
      again.length === 0,
      aggregate,
      () => `${service} states so of ${JSON.stringify(message).slice(0, 300)}, which has led to nothing`,
    );
  };

  return {
    accept: (routed, callbacks) => {
      versions.set(routed.aggregate, book.versionOf(routed.aggregate));
      engine.accept(routed, callbacks);
    },
    post: (wire, stored) => {
      check(DeadLetterResolved.parse(JSON.parse(wire.body)));
      engine.post(wire, stored);
    },
  };
};
