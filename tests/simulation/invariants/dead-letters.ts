import { deadLetterPlace, type StoredDeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import type { WantedResolution } from '@holdpoint/runtime/bus/dead-letter-actions';
import { identityIn } from '@holdpoint/runtime/engine/dead-letter';
import type { DeadLetterStore, KeptDeadLetter } from '@holdpoint/runtime/engine/ports';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import { parseJson } from '@holdpoint/runtime/engine/inbound';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import type { Addressed } from '@holdpoint/runtime/engine/kinds';
import { decideAgain } from '../event-states.ts';
import type { DeadLetterReply } from '../users/dead-letter-operators.ts';
import type { World } from '../world.ts';

/** Operators may act at the same time: a dead letter is resolved once, as one of them requested. */
export const watchLetters = ({ checker, databases }: World) => {
  const wanted = new Map<string, Set<string>>();
  const replies = new Map<string, { readonly letter: StoredDeadLetter; readonly answers: Set<string> }>();

  return {
    asked: ({ id }: StoredDeadLetter, { action, by }: WantedResolution): void => {
      wanted.set(id, (wanted.get(id) ?? new Set()).add(`${action} ${by}`));
    },
    told: (letter: StoredDeadLetter, answer: DeadLetterReply): void => {
      if ('refused' in answer) return;
      checker.expect(
        'a dead letter is resolved only as an operator requested',
        wanted.get(letter.id)?.has(`${answer.action} ${answer.by}`) === true,
        '',
        () => JSON.stringify({ letter, answer }),
      );
      const { answers } = replies.get(letter.id) ?? { answers: new Set() };
      replies.set(letter.id, { letter, answers: answers.add(JSON.stringify(answer)) });
    },
    /** At the end: every answer that an operator got is the resolution in the store. */
    check: (): void => {
      for (const [id, { letter, answers }] of replies) {
        const { place = 0 } = deadLetterPlace(id) ?? {};
        const stored = databases[letter.service].tables.deadLetters[place - 1]?.resolution;
        checker.expect(
          'a dead letter is resolved once',
          answers.size === 1 && answers.has(JSON.stringify(stored)),
          '',
          () => JSON.stringify({ id, stored, answers: [...answers] }),
        );
      }
    },
  };
};

/**
 * A retried dead letter was handled. Before its resolution is stored, its message is decided once more on the stored state and
 * must lead to no new event.
 */
export const watchRetries = <To extends Addressed, Event extends { readonly type: string }, Work>(
  { checker, books, databases, bus }: World,
  { service, kinds, inbound }: ServiceLogic<To, Event, Work>,
  engine: Pick<Engine<To>, 'accept'>,
  letters: DeadLetterStore,
): { readonly engine: Pick<Engine<To>, 'accept'>; readonly letters: DeadLetterStore } => {
  const book = books[service];
  const versions = new Map<string, number>();

  const check = ({ id, letter: { subject, headers }, body }: KeptDeadLetter): void => {
    const meta = { identity: identityIn(headers) ?? id };
    const routed = inbound
      .filter(({ consumer }) => bus.reads(consumer.name, subject))
      .map((each) => each.decode(subject, parseJson(body), meta))
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
    engine: {
      accept: (routed, callbacks) => {
        versions.set(routed.aggregate, book.versionOf(routed.aggregate));
        engine.accept(routed, callbacks);
      },
    },
    letters: {
      ...letters,
      resolve: (place, resolution) => {
        const kept = databases[service].tables.deadLetters[place - 1];
        if (resolution.action === 'retry' && kept !== undefined) check(kept);
        return letters.resolve(place, resolution);
      },
    },
  };
};
