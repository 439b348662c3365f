import { AGGREGATES, filters, PREFIX, type ServiceName, SERVICES } from './subjects.ts';

/** The commands that each service sends, by the aggregate of the receiver. A command has one sender. */
export const COMMAND_SENDERS = {
  task: {
    /** To itself: between tasks, and with the registry of their repository. A rollback is a task that it submits. */
    orchestrator: ['watch', 'notify', 'registry', 'submit', 'cancel'],
    recovery: ['recover', 'circuit_state'],
    approvals: ['callback_taken'],
  },
  approval: { orchestrator: ['request', 'cancel', 'call_back'] },
  effect: { orchestrator: ['run', 'cancel', 'resolve'] },
  recovery: {
    orchestrator: ['assess', 'record_attempt', 'job_unstuck', 'circuit_acquire'],
    executor: ['circuit_report'],
    /** Of the jobs that it gives up, to itself as keeper of the circuits. */
    recovery: ['circuit_record_failure'],
  },
} as const satisfies Record<string, Partial<Record<ServiceName, readonly string[]>>>;

const commandsOf = (service: ServiceName): readonly (readonly [aggregate: string, command: string])[] =>
  Object.entries(COMMAND_SENDERS).flatMap(([aggregate, byService]) =>
    ((byService as Partial<Record<ServiceName, readonly string[]>>)[service] ?? []).map(
      (command) => [aggregate, command] as const,
    ),
  );

/** Filters of everything that a service may send as messages: its events, its commands, and orders of work. */
export const sentBy = (service: ServiceName): readonly string[] => [
  filters.eventsOf(AGGREGATES[service]),
  ...commandsOf(service).map(
    ([aggregate, command]) => `${PREFIX}.cmd.${aggregate}.${command}${aggregate === 'effect' ? '.*' : ''}`,
  ),
  ...(service === 'orchestrator' ? [filters.work] : []),
];

const senders = new Map<string, ServiceName>();
for (const service of SERVICES) senders.set(`evt.${AGGREGATES[service]}`, service);
senders.set('work', 'orchestrator');
for (const service of SERVICES) senders.set(`own.${service}`, service);
for (const service of SERVICES)
  for (const [aggregate, command] of commandsOf(service)) senders.set(`cmd.${aggregate}.${command}`, service);

/** The only service that may send a message on this subject. Undefined when no service may. */
export const senderOf = (subject: string): ServiceName | undefined => {
  const [, kind = '', aggregate = '', name = ''] = subject.split('.');
  if (kind === 'work') return senders.get(kind);
  return senders.get(kind === 'cmd' ? `cmd.${aggregate}.${name}` : `${kind}.${aggregate}`);
};

const FROM_PEOPLE = `${PREFIX}.in.`;

/** Commands that a person's client publishes: they carry no seal. */
export const isFromPeople = (subject: string): boolean => subject.startsWith(FROM_PEOPLE);

/**
 * The only events that services decide on. All others inform clients, and wake followers, which then read the
 * changes from the services. No decision rests on them, so they need no seal.
 */
const DECIDED_ON: Readonly<Record<string, (event: string) => boolean>> = {
  task: () => false,
  approval: (event) => event === 'resolved',
  effect: (event) => event !== 'started',
  recovery: () => true,
};

/**
 * Whether a service acts on messages of this subject, so that they carry a seal: all commands and orders, what a replica hands
 * on to the owner of its service, and some events.
 */
export const isSealed = (subject: string): boolean => {
  const [, kind, aggregate = '', name = ''] = subject.split('.');
  if (kind === 'evt') return DECIDED_ON[aggregate]?.(name) ?? true;
  return kind === 'cmd' || kind === 'work' || (kind === 'own' && name === 'decide');
};
