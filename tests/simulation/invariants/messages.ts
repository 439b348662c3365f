import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import type { DeadLetter } from '@holdpoint/contracts/bus/dead-letter';
import { AGGREGATES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { isInternal } from '@holdpoint/contracts/catalog/event-list';
import { CHANGED, TaskChanged } from '@holdpoint/contracts/task/changed';
import type { BatchWrite, WireMessage } from '@holdpoint/runtime/engine/ports';
import { MALFORMED } from '../faults/adversary.ts';
import { isOfNext } from '../../kit/bus/next-release.ts';
import { isLaterCommand } from '../services/releases.ts';
import { messageIdOf, type World } from '../world.ts';

/** Kinds whose every commit is announced. */
const TASK_KINDS: ReadonlySet<string> = new Set(['task', 'program']);
const CHANGES = `hp.evt.task.${CHANGED}.`;

const isChange = (wire: WireMessage, latest: string | undefined): boolean => {
  const change = TaskChanged.parse(JSON.parse(wire.body));
  return latest === change.latest && messageIdOf(wire) === `task.${change.id}.${String(change.version)}`;
};

/** Why the orchestrator refuses a command of a person for good. */
const REFUSALS: ReadonlySet<string> = new Set([
  'IDENTITY_INVALID',
  'IDENTITY_EXPIRED',
  'IDENTITY_REQUIRED',
  'ERR_FORBIDDEN',
  'ORCHESTRATOR_NOT_ENTITLED',
  'ORCHESTRATOR_ILLEGAL_IN_PHASE',
  'ORCHESTRATOR_TASK_CONFLICT',
]);
/** What an intruder publishes, and nothing else, has a seal that does not count. */
const isForged = (headers: Readonly<Record<string, string>>): boolean =>
  /^(adversary|forger) \d+$/.test(headers[HEADERS.messageId] ?? '');
const isRefusal = ({
  subject,
  reason,
  headers,
}: Pick<DeadLetter, 'subject' | 'reason' | 'headers'>): boolean =>
  subject.startsWith('hp.in.')
    ? REFUSALS.has(reason.code)
    : reason.code.startsWith('SEAL_') && isForged(headers);

/** The last release keeps what it cannot read, for a retry after the upgrade. */
const isUnread = ({ subject, reason }: Pick<DeadLetter, 'subject' | 'reason'>): boolean =>
  reason.code === 'CONTRACT_UNKNOWN_SUBJECT' && isLaterCommand(subject);

const taskIn = (body: string): string => /"task":"([^"]+)"/.exec(body)?.[1] ?? '';

/** Only committed messages and public events are published, and finally all of them are. Returns the check for the end. */
export const watchMessages = ({ watchers, checker, bus, poison }: World): (() => void) => {
  const committed = new Set<string>();
  const internal = new Map<string, string>();
  /** The last event of each commit of a task, by message id, if it is internal. */
  const changes = new Map<string, string>();
  /** A message between services is never a dead letter, unless a fault poisoned it. People are also refused. */
  watchers.lettered.push(({ letter }, key) => {
    checker.expect(
      'only malformed or poisoned messages are dead letters',
      letter.body === MALFORMED || poison.get(key) !== undefined || isRefusal(letter) || isUnread(letter),
      taskIn(letter.body),
      () => `${letter.subject}: ${JSON.stringify(letter.reason)} ${letter.body.slice(0, 200)}`,
    );
  });
  watchers.committed.push((service: ServiceName, write: BatchWrite) => {
    const idOf = (aggregate: string, version: number): string =>
      `${AGGREGATES[service]}.${aggregate}.${String(version)}`;
    for (const { kind, aggregate, version, type } of write.events) {
      const id = idOf(aggregate, version);
      if (!isInternal(service, type)) committed.add(id);
      else if (TASK_KINDS.has(kind)) internal.set(id, type);
    }
    // From the versions alone: the engine's own choice is under test.
    for (const { aggregate, version } of write.heads) {
      const id = idOf(aggregate, version);
      const type = internal.get(id);
      if (type !== undefined) changes.set(id, type);
    }
    for (const wire of write.outbox) committed.add(messageIdOf(wire));
  });
  watchers.published.push((wire) => {
    if (isOfNext(wire)) return;
    const id = messageIdOf(wire);
    checker.expect(
      'every published message was committed, and no internal event is published',
      wire.subject.startsWith(CHANGES) ? isChange(wire, changes.get(id)) : committed.has(id),
      '',
      () => `${wire.subject} ${id} ${wire.body.slice(0, 200)}`,
    );
  });
  return () => {
    for (const id of [...committed, ...changes.keys()])
      checker.expect('every committed message is published', bus.hasStored(id), '', () => id);
  };
};
