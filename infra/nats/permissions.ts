import type { Api } from '@holdpoint/contracts/catalog/api';
import { consumers, streams } from '@holdpoint/contracts/bus/streams';
import type { ConsumerDeclaration, StreamDeclaration } from '@holdpoint/contracts/bus/streams';
import { commands } from '@holdpoint/contracts/catalog/commands';
import { isPeopleCommand } from '@holdpoint/contracts/approval/identity';
import { sentBy } from '@holdpoint/contracts/bus/senders';
import { filters, SERVICES, subjects, USER_INFO } from '@holdpoint/contracts/bus/subjects';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import type { NatsUser } from '../credentials/layout.ts';
import {
  acknowledge,
  ADVISORIES,
  consumerInfo,
  createConsumer,
  deleteConsumer,
  fetchFrom,
  getDirect,
  listConsumers,
  readMessages,
  streamInfo,
  writeStream,
} from './jetstream-api.ts';

/** A subject that a user publishes, and the subject on which it arrives in other accounts; null: in none. */
export type Sent = {
  readonly subject: string;
  readonly arrivesAs: string | null;
  /** The service that receives it, where the subject does not tell. Left out: all services. */
  readonly at?: ServiceName;
};

/** The rights of a user in any account. ./accounts.ts turns them into permissions, exports and imports. */
export type Rights = {
  /** Events, commands, requests, and the JetStream API. */
  readonly sends: readonly (string | Sent)[];
  /** What users of other accounts publish. */
  readonly watches: readonly string[];
  /** The messages to this user: answers, and the requests of its API. */
  readonly receives: readonly string[];
  /** Whether it answers requests. */
  readonly answers: boolean;
};

/** What exists on the bus. Taken from the contracts; a deployment with more executor pools passes its own list. */
export type Declared = {
  readonly streams: readonly Pick<StreamDeclaration, 'name'>[];
  readonly consumers: readonly Pick<ConsumerDeclaration, 'name' | 'stream' | 'service' | 'filter'>[];
};

export const SERVICE_DISCOVERY = '$SRV.>';

const streamNames = (declared: Declared): readonly string[] => declared.streams.map(({ name }) => name);

const inboxOf = (user: NatsUser) => `_INBOX_${user}.>`;

/** Exactly the endpoints that the console, its health page and the HTTP API call: the bus refuses all others. */
const passedOn = {
  orchestrator: [
    ...(['get', 'list', 'history', 'workflows'] as const),
    ...(['submit', 'cancel', 'pause', 'resume', 'retry', 'skip', 'done', 'record_review', 'fork'] as const),
    'dead_letter_list',
    'dead_letter_resolve',
  ],
  executor: [
    'get',
    'list',
    'artifacts',
    'artifact',
    'capabilities',
    'order',
    ...(['claim', 'beat', 'end', 'claimants'] as const),
    'executors',
    'dead_letter_list',
    'dead_letter_resolve',
  ],
  recovery: [
    'history',
    'stuck',
    'report',
    'failure_counts',
    'circuits',
    'circuit',
    'dead_letter_list',
    'dead_letter_resolve',
  ],
} as const satisfies { readonly [S in Exclude<ServiceName, 'approvals'>]: readonly (keyof Api[S])[] };

const forTheConsole: readonly (string | Sent)[] = [
  ...Object.entries(passedOn).flatMap(([service, endpoints]) =>
    endpoints.map((endpoint) => subjects.api(service as ServiceName, endpoint)),
  ),
  // Its replicas, and the other services.
  { subject: '$SRV.PING', arrivesAs: null },
  { subject: filters.answersTo('approvals'), arrivesAs: null },
  // A subject for each service: a JWT must not import several services on one subject.
  ...SERVICES.filter((service) => service !== 'approvals').map((service): Sent => ({
    subject: subjects.ping(service),
    arrivesAs: '$SRV.PING',
    at: service,
  })),
  // How full streams are and how far behind their readers; single lines of what running work prints.
  ...streams.map(({ name }) => streamInfo(name)),
  ...[...new Set(consumers.map(({ stream }) => stream))].map(listConsumers),
  getDirect('HP_LOG'),
];

/** The requests of each service, and its messages beside events and commands. */
const speech: Readonly<Record<ServiceName, readonly (string | Sent)[]>> = {
  orchestrator: [subjects.api('approvals', 'keys'), subjects.api('recovery', 'circuits')],
  // Its console forwards requests of signed-in people: decision 21.
  approvals: forTheConsole,
  executor: [
    filters.logs,
    subjects.api('approvals', 'keys'),
    subjects.api('approvals', 'executor_join'),
    subjects.api('recovery', 'circuits'),
  ],
  recovery: [subjects.api('approvals', 'keys')],
};

/** What a service hears beside its consumers. */
const hearing: Readonly<Record<ServiceName, readonly string[]>> = {
  orchestrator: filters.circuitEvents,
  approvals: [
    // Notices of other replicas, after which a surface reads the request again.
    filters.eventsOf('approval'),
    // For who watches tasks in a browser.
    filters.eventsOf('task'),
    filters.logs,
  ],
  executor: filters.circuitEvents,
  recovery: [],
};

/** Each service examines its login at its start. */
const examineLogin: Sent = { subject: USER_INFO, arrivesAs: null };

const taskCommandsOfPeople = Object.keys(commands.orchestrator).filter(isPeopleCommand);

const serviceRights = (service: ServiceName, declared: Declared): Rights => {
  const own = declared.consumers.filter((consumer) => consumer.service === service);
  return {
    sends: [
      examineLogin,
      ...sentBy(service),
      ...speech[service],
      // To the owner among its own replicas.
      { subject: filters.ownOf(service), arrivesAs: null },
      ...own.flatMap((consumer) => [consumerInfo(consumer), fetchFrom(consumer), ...acknowledge(consumer)]),
    ],
    watches: hearing[service],
    receives: [
      inboxOf(service),
      filters.answersTo(service),
      filters.apiOf(service),
      filters.ownOf(service),
      SERVICE_DISCOVERY,
    ],
    answers: true,
  };
};

/** The stream of work: one consumer for each version of a program. */
const WORK: (typeof streams)[number]['name'] = 'HP_WORK';
const everyOrder = { stream: WORK, name: '*' } as const;

const topologyRights = (declared: Declared): Rights => ({
  sends: [
    examineLogin,
    '$JS.API.INFO',
    ...streamNames(declared).flatMap((name) => [streamInfo(name), ...writeStream(name)]),
    ...declared.consumers.flatMap((consumer) => [
      consumerInfo(consumer),
      createConsumer(consumer),
      // One that is ahead of its stream is recreated.
      deleteConsumer(consumer),
    ]),
    ...[consumerInfo, deleteConsumer].map((right) => right(everyOrder)),
    createConsumer({ ...everyOrder, filter: filters.work }),
    listConsumers(WORK),
  ],
  watches: [ADVISORIES],
  receives: [inboxOf('topology')],
  answers: false,
});

const infos = (declared: Declared): readonly string[] => [
  '$JS.API.INFO',
  '$JS.API.STREAM.NAMES',
  '$JS.API.STREAM.LIST',
  ...streamNames(declared).flatMap((name) => [
    streamInfo(name),
    `$JS.API.CONSUMER.NAMES.${name}`,
    `$JS.API.CONSUMER.LIST.${name}`,
    consumerInfo({ stream: name, name: '*' }),
  ]),
];

/**
 * People read events and the output of work one message or batch at a time. A consumer of their own could make the server
 * deliver stored messages to any subject of its account.
 */
const READABLE: readonly (typeof streams)[number]['name'][] = ['HP_EVT', 'HP_LOG'];

const commandsOfPeople: readonly Sent[] = taskCommandsOfPeople.map((command) => ({
  subject: subjects.taskCommand(command),
  arrivesAs: subjects.peopleCommand(command),
}));

/** Of an account of others: commands of people, every API, and live events and output; nothing stored. */
export const guestRights: Rights = {
  sends: [...commandsOfPeople, ...SERVICES.map(filters.apiOf)],
  watches: [filters.events, filters.logs],
  receives: [],
  answers: false,
};

const operatorRights = (declared: Declared): Rights => ({
  sends: [
    ...commandsOfPeople,
    ...SERVICES.map(filters.apiOf),
    SERVICE_DISCOVERY,
    ...infos(declared),
    ...READABLE.flatMap(readMessages),
  ],
  // Not commands: those of people carry what proves who they are.
  watches: [filters.events, filters.logs, filters.work, ADVISORIES],
  receives: ['_INBOX.>', inboxOf('operator')],
  answers: false,
});

const monitorRights = (declared: Declared): Rights => ({
  sends: [...infos(declared), SERVICE_DISCOVERY],
  watches: [filters.events, ADVISORIES],
  receives: [inboxOf('monitor')],
  answers: false,
});

/** Runs programs: takes orders of work, reports on it, and stores values too large for a message. It claims remote effects. */
const workerRights = (): Rights => ({
  sends: [
    subjects.api('orchestrator', 'work'),
    subjects.api('orchestrator', 'program_register'),
    consumerInfo(everyOrder),
    fetchFrom(everyOrder),
    ...acknowledge(everyOrder),
    subjects.api('orchestrator', 'value_put'),
    subjects.api('orchestrator', 'value_get'),
    ...(['claim', 'beat', 'end'] as const).map((endpoint) => subjects.api('executor', endpoint)),
    // The identity of its token, and the keys of grants.
    ...(['identify', 'keys'] as const).map((endpoint) => subjects.api('approvals', endpoint)),
  ],
  watches: [filters.eventsOf('task')],
  receives: [inboxOf('worker')],
  answers: false,
});

export const rightsOf = (user: NatsUser, declared: Declared): Rights => {
  switch (user) {
    case 'topology':
      return topologyRights(declared);
    case 'operator':
      return operatorRights(declared);
    case 'monitor':
      return monitorRights(declared);
    case 'worker':
      return workerRights();
    case 'orchestrator':
    case 'approvals':
    case 'executor':
    case 'recovery':
      return serviceRights(user, declared);
  }
};
