import { AGGREGATES, type ServiceName, SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import type { BatchWrite, WireMessage } from '@holdpoint/runtime/engine/ports';
import { DeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { MALFORMED } from '../faults/adversary.ts';
import { messageIdOf, type World } from '../world.ts';

const DEAD_LETTERS: ReadonlySet<string> = new Set(SERVICES.map((service) => subjects.deadLetter(service)));

const taskIn = (body: string): string => /"task":"([^"]+)"/.exec(body)?.[1] ?? '';

/** Only committed messages are published, and finally all of them are. Returns the check for the end. */
export const watchMessages = ({ watchers, checker, bus, poison }: World): (() => void) => {
  const committed = new Set<string>();
  /** A message between services is never a dead letter, unless a fault poisoned it. */
  const checkDeadLetter = (wire: WireMessage): void => {
    const letter = DeadLetter.parse(JSON.parse(wire.body));
    checker.expect(
      'only malformed or poisoned messages are dead letters',
      letter.body === MALFORMED || poison.get(messageIdOf(wire)) !== undefined,
      taskIn(letter.body),
      () => `${letter.subject}: ${JSON.stringify(letter.reason)} ${letter.body.slice(0, 200)}`,
    );
  };
  watchers.committed.push((service: ServiceName, write: BatchWrite) => {
    for (const { aggregate, version } of write.events)
      committed.add(`${AGGREGATES[service]}.${aggregate}.${String(version)}`);
    for (const wire of write.outbox) committed.add(messageIdOf(wire));
  });
  watchers.published.push((wire) => {
    const id = messageIdOf(wire);
    checker.expect('what is published was committed', committed.has(id), '', () => `${wire.subject} ${id}`);
    if (DEAD_LETTERS.has(wire.subject)) checkDeadLetter(wire);
  });
  return () => {
    for (const id of committed)
      checker.expect('what was committed is published', bus.hasStored(id), '', () => id);
  };
};
