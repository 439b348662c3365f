import { AGGREGATES, type ServiceName } from '@holdpoint/contracts/subjects';
import type { BatchWrite } from '@holdpoint/runtime/ports';
import { messageIdOf, type World } from '../world.ts';

/**
 * Nothing is published for a transaction that did not commit, and in the end the bus has had everything of one that did.
 * Returns the check for the end.
 */
export const watchMessages = ({ watchers, judge, bus }: World): (() => void) => {
  const committed = new Set<string>();
  watchers.committed.push((service: ServiceName, write: BatchWrite) => {
    for (const { aggregate, version } of write.events)
      committed.add(`${AGGREGATES[service]}.${aggregate}.${String(version)}`);
    for (const wire of write.outbox) committed.add(messageIdOf(wire));
  });
  watchers.published.push((wire) => {
    const id = messageIdOf(wire);
    judge.expect('what is published is committed', committed.has(id), '', () => `${wire.subject} ${id}`);
  });
  return () => {
    for (const id of committed)
      judge.expect('what is committed is published', bus.hasStored(id), '', () => id);
  };
};
