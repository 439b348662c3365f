import type { Api } from '@holdpoint/contracts/catalog/api';
import { artifactBucket, buckets, consumers, programBucket, streams } from '@holdpoint/contracts/bus/streams';
import type {
  BucketDeclaration,
  ConsumerDeclaration,
  StreamDeclaration,
} from '@holdpoint/contracts/bus/streams';
import { AGGREGATES, filters, PREFIX, SERVICES, subjects } from '@holdpoint/contracts/bus/subjects';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { natsUsers } from '../credentials/layout.ts';
import type { NatsUser } from '../credentials/layout.ts';
import { recordOf } from '../local/record.ts';
import {
  acknowledge,
  consumerInfo,
  createConsumer,
  fetchFrom,
  getDirect,
  listConsumers,
  readStream,
  streamInfo,
  writeBucket,
  writeStream,
} from './jetstream-api.ts';

export type Rule = { readonly allow: readonly string[]; readonly deny: readonly string[] };
export type Permissions = { readonly publish: Rule; readonly subscribe: Rule };
export type PermissionTable = Readonly<Record<NatsUser, Permissions>>;

/** What exists on the bus. Taken from the contracts; a deployment with more executor pools passes its own list. */
export type Declared = {
  readonly streams: readonly Pick<StreamDeclaration, 'name'>[];
  readonly consumers: readonly Pick<ConsumerDeclaration, 'name' | 'stream' | 'service' | 'filter'>[];
  /** Object stores. Those of the contracts, when left out. */
  readonly buckets?: readonly Pick<BucketDeclaration, 'name' | 'stream'>[];
};

const SERVICE_DISCOVERY = '$SRV.>';
const ADVISORIES = '$JS.EVENT.ADVISORY.>';

const bucketsOf = (declared: Declared) => declared.buckets ?? buckets;
const bucketsNamed = (name: string, declared: Declared) =>
  bucketsOf(declared).filter((bucket) => bucket.name === name);
/** Every stream, those of object stores among them. */
const streamNames = (declared: Declared): readonly string[] => [
  ...declared.streams.map(({ name }) => name),
  ...bucketsOf(declared).map(({ stream }) => stream),
];

const inboxOf = (user: NatsUser) => `_INBOX_${user}.>`;

/**
 * Inboxes on which callers wait for answers. Services may answer only there. With `allow_responses` a request could name
 * any reply subject, such as that of an event, and the answering service would publish there for the caller. The inboxes
 * of services are not in the list: no user can answer a service in the place of the JetStream API.
 */
const REQUESTER_INBOXES = ['_INBOX.>', inboxOf('operator'), inboxOf('monitor'), inboxOf('worker')] as const;

/** Exactly the endpoints that the console may call: the bus refuses all others, even if the gateway errs. */
const passedOn = {
  orchestrator: [
    ...(['get', 'list', 'history', 'workflows'] as const),
    ...(['submit', 'cancel', 'pause', 'resume', 'retry', 'skip', 'done', 'fork'] as const),
    'dead_letter',
  ],
  executor: ['get', 'list', 'artifacts', 'artifact', 'capabilities', 'order', 'dead_letter'],
  recovery: ['history', 'stuck', 'report', 'failure_counts', 'circuits', 'circuit', 'dead_letter'],
} as const satisfies { readonly [S in Exclude<ServiceName, 'approvals'>]: readonly (keyof Api[S])[] };

const forTheConsole: readonly string[] = [
  ...Object.entries(passedOn).flatMap(([service, endpoints]) =>
    endpoints.map((endpoint) => subjects.api(service as ServiceName, endpoint)),
  ),
  // Who is there answers to it, and it to itself.
  '$SRV.PING',
  filters.answersTo('approvals'),
  // How full streams are and how far behind their readers; single lines of what running work prints.
  ...streams.map(({ name }) => streamInfo(name)),
  ...[...new Set(consumers.map(({ stream }) => stream))].map(listConsumers),
  getDirect('HP_LOG'),
];

/** The messages that each service may publish by its role. The rest is derived from the contracts. */
const speech: Readonly<Record<ServiceName, readonly string[]>> = {
  orchestrator: [
    subjects.approvalCommand('request'),
    subjects.approvalCommand('cancel'),
    filters.effectCommands('*'),
    filters.work,
    ...(['assess', 'record_attempt', 'job_unstuck', 'circuit_acquire'] as const).map(
      subjects.recoveryCommand,
    ),
    // It asks how circuits stand.
    subjects.api('recovery', 'circuits'),
    // To itself: between tasks, and with the registry of their repository. A rollback is a task that it submits or cancels.
    ...(['watch', 'notify', 'registry', 'submit', 'cancel'] as const).map(subjects.taskCommand),
    filters.answersTo('approvals'),
  ],
  // Executors request its public keys; it requests the outcome of an effect. Its console forwards the rest for signed-in
  // people: decision 21.
  approvals: [filters.answersTo('executor'), ...forTheConsole],
  // Reports on targets, and requests for the state of circuits.
  executor: [
    filters.logs,
    subjects.recoveryCommand('circuit_report'),
    subjects.api('recovery', 'circuits'),
    subjects.api('approvals', 'keys'),
    filters.answersTo('approvals'),
  ],
  recovery: [
    ...(['recover', 'circuit_state'] as const).map(subjects.taskCommand),
    // Of the jobs that it gives up it tells itself, as keeper of the circuits.
    subjects.recoveryCommand('circuit_record_failure'),
    filters.answersTo('executor'),
    filters.answersTo('orchestrator'),
    filters.answersTo('approvals'),
  ],
};

/** What a service hears beside its consumers, and where it is answered by another: apart from its inbox, see above. */
const hearing: Readonly<Record<ServiceName, readonly string[]>> = {
  orchestrator: [...filters.circuitEvents, filters.answersTo('orchestrator')],
  // Notices of other replicas, after which a surface reads the request again.
  approvals: [
    filters.eventsOf('approval'),
    filters.answersTo('approvals'),
    // For who watches tasks in a browser.
    filters.eventsOf('task'),
    filters.logs,
  ],
  executor: [...filters.circuitEvents, filters.answersTo('executor')],
  recovery: [],
};

const taskCommandsOfPeople = [
  'submit',
  'cancel',
  'pause',
  'resume',
  'retry',
  'skip',
  'done',
  'checkpoint',
] as const;

/** What only its receiver may read: requests carry the token of the person who sends them. */
const confidential = SERVICES.map(filters.apiOf);

const rule = (allow: readonly string[], deny: readonly string[] = []): Rule => ({ allow, deny });

/** Executors store artifacts, and read them for callers. */
const storesOf = (service: ServiceName, declared: Declared): readonly string[] =>
  service === 'executor' ? bucketsNamed(artifactBucket.name, declared).flatMap(writeBucket) : [];

const serviceUser = (service: ServiceName, declared: Declared): Permissions => {
  const own = declared.consumers.filter((consumer) => consumer.service === service);
  return {
    publish: rule([
      filters.eventsOf(AGGREGATES[service]),
      ...speech[service],
      ...storesOf(service, declared),
      subjects.deadLetter(service),
      // Resolutions of its own dead letters.
      subjects.resolvedDeadLetter(service),
      getDirect('HP_DLQ'),
      ...own.flatMap((consumer) => [consumerInfo(consumer), fetchFrom(consumer), ...acknowledge(consumer)]),
      ...REQUESTER_INBOXES,
    ]),
    subscribe: rule([inboxOf(service), filters.apiOf(service), SERVICE_DISCOVERY, ...hearing[service]]),
  };
};

const topologyUser = (declared: Declared): Permissions => ({
  publish: rule([
    '$JS.API.INFO',
    ...streamNames(declared).flatMap((name) => [streamInfo(name), ...writeStream(name)]),
    ...declared.consumers.flatMap((consumer) => [consumerInfo(consumer), ...createConsumer(consumer)]),
  ]),
  subscribe: rule([inboxOf('topology'), ADVISORIES]),
});

const infos = (declared: Declared): readonly string[] => [
  '$JS.API.INFO',
  '$JS.API.STREAM.NAMES',
  '$JS.API.STREAM.LIST',
  ...streamNames(declared).flatMap((name) => [
    streamInfo(name),
    `$JS.API.CONSUMER.NAMES.${name}`,
    `$JS.API.CONSUMER.LIST.${name}`,
    `$JS.API.CONSUMER.INFO.${name}.*`,
  ]),
];

/** Commands are between services: people can count them, but not read them. Facts are for everybody. */
const readableByPeople = (declared: Declared): readonly string[] => {
  const withCommands = declared.consumers.filter(({ filter }) => filter === filters.approvalCommands);
  // A user with consumers on a stream could consume the work of others: work is for workers.
  const closed = new Set([...withCommands.map(({ stream }) => stream), WORK_STREAM]);
  return streamNames(declared).filter((name) => !closed.has(name));
};

const operatorUser = (declared: Declared): Permissions => {
  const readable = readableByPeople(declared).map((name) =>
    readStream(
      name,
      declared.consumers.filter(({ stream }) => stream === name).map((consumer) => consumer.name),
    ),
  );
  return {
    publish: rule(
      [
        ...taskCommandsOfPeople.map(subjects.taskCommand),
        ...SERVICES.map(filters.apiOf),
        SERVICE_DISCOVERY,
        ...infos(declared),
        ...readable.flatMap(({ allow }) => allow),
      ],
      readable.flatMap(({ deny }) => deny),
    ),
    subscribe: rule([`${PREFIX}.>`, '_INBOX.>', inboxOf('operator'), ADVISORIES], confidential),
  };
};

const monitorUser = (declared: Declared): Permissions => ({
  publish: rule([...infos(declared), SERVICE_DISCOVERY]),
  subscribe: rule([filters.events, inboxOf('monitor'), ADVISORIES]),
});

/** The stream of work, with the consumers that workers make themselves, one for each version of a program. */
const WORK_STREAM: (typeof streams)[number]['name'] = 'HP_WORK';

/** Runs programs: claims work, reports on it, and stores values too large for a message. */
const workerUser = (declared: Declared): Permissions => ({
  publish: rule([
    subjects.api('orchestrator', 'work'),
    subjects.api('orchestrator', 'program_register'),
    '$JS.API.INFO',
    streamInfo(WORK_STREAM),
    `$JS.API.CONSUMER.INFO.${WORK_STREAM}.*`,
    ...readStream(WORK_STREAM, []).allow,
    ...bucketsNamed(programBucket.name, declared).flatMap(writeBucket),
  ]),
  subscribe: rule([inboxOf('worker'), filters.eventsOf('task')]),
});

const permissionsOf = (user: NatsUser, declared: Declared): Permissions => {
  switch (user) {
    case 'topology':
      return topologyUser(declared);
    case 'operator':
      return operatorUser(declared);
    case 'monitor':
      return monitorUser(declared);
    case 'worker':
      return workerUser(declared);
    case 'orchestrator':
    case 'approvals':
    case 'executor':
    case 'recovery':
      return serviceUser(user, declared);
  }
};

/**
 * The publish and subscribe rights of each user. NATS wildcards match whole tokens only, so every stream and consumer is
 * listed; the lists come from the contracts. These rights do not authenticate a sender: the reply subject of a pull
 * request and the delivery subject of a push consumer bypass them. Messages with authority are signed.
 */
export const permissionTable = (declared: Declared = { streams, consumers }): PermissionTable =>
  recordOf(natsUsers, (user) => permissionsOf(user, declared));
