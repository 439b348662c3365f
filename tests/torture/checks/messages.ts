import { AGGREGATES, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { isInternal } from '@holdpoint/contracts/catalog/event-list';
import { CHANGED } from '@holdpoint/contracts/task/changed';
import type { SeenFact } from '../bus-recorder.ts';
import type { StoredAggregate, TaskEvidence } from '../evidence/evidence.ts';
import { type Check, type Finding, takeNotes } from './check.ts';

/** Refusals of services that understood the message, such as a late repeat. */
const UNDERSTOOD = /^(ORCHESTRATOR|APPROVALS|EXECUTOR|RECOVERY|ERR)_/;

const storedOf = (
  { task, recovery, approvals, effects, works }: TaskEvidence,
  aggregate: string,
  id: string,
): StoredAggregate | undefined => {
  if (aggregate === 'task') return task;
  if (aggregate === 'recovery') return recovery;
  return (aggregate === 'approval' ? approvals : [...effects, ...works]).find((each) => each.id === id);
};

type Stored = (aggregate: string, id: string) => StoredAggregate | undefined;

const toldAsStored = (about: string, facts: readonly SeenFact[], stored: Stored): Finding => {
  const { expect, finding } = takeNotes(about);
  for (const { aggregate, id, version, type } of facts) {
    const event = stored(aggregate, id)?.events[version - 1];
    expect(
      type === CHANGED
        ? event !== undefined && isInternal('orchestrator', event.type)
        : event?.type === type &&
            SERVICES.every((service) => AGGREGATES[service] !== aggregate || !isInternal(service, type)),
      () =>
        `the bus told ${type} of ${aggregate} ${id} as version ${String(version)}; stored is ${String(event?.type)}`,
    );
  }
  return finding();
};

export const messages: Check = {
  id: 'K9',
  promise: 'every committed message was published and handled, and nothing else was published',
  ofTask: (evidence) =>
    toldAsStored(evidence.id, evidence.facts, (aggregate, id) => storedOf(evidence, aggregate, id)),
  ofProgram: ({ id: task, facts, program, questions }) =>
    toldAsStored(task, facts, (aggregate, id) =>
      aggregate === 'task' ? program : questions.find((each) => each.id === id),
    ),
  ofRun: ({ services, consumers, letters }) => {
    const { expect, finding } = takeNotes();
    for (const { service, outbox, staleTimers } of services) {
      expect(outbox === 0, () => `${String(outbox)} messages of ${service} have not gone out`);
      expect(staleTimers === 0, () => `${String(staleTimers)} timers of ${service} were due long ago`);
    }
    for (const { name, pending, unacknowledged } of consumers)
      expect(
        pending === 0 && unacknowledged === 0,
        () => `${name} has ${String(pending)} messages unread and ${String(unacknowledged)} unacknowledged`,
      );
    for (const { ours, service, letter } of letters)
      expect(
        ours || UNDERSTOOD.test(letter.reason.code),
        () => `${service} could not handle ${letter.subject}: ${letter.reason.code} ${letter.reason.message}`,
      );
    return finding();
  },
};
