import {
  accountProblem,
  type BusProblem,
  serverProblem,
  unansweredProblem,
} from '@holdpoint/contracts/bus/server-needs';
import {
  consumers,
  type ConsumerDeclaration,
  executorConsumer,
  streams,
} from '@holdpoint/contracts/bus/streams';
import {
  type ConsumerInfo,
  type JetStreamAccountStats,
  JetStreamApiError,
  jetstreamManager,
  type StreamInfo,
} from '@nats-io/jetstream';
import { errors, type NatsConnection, PermissionViolationError, RequestError } from '@nats-io/transport-node';
import { fail, type Finding, ok, sizeText, warn } from './finding.ts';

/** State of the bus, as far as this user may read it. */
export type BusReport = {
  readonly url: string;
  readonly server: string;
  readonly jetstream: boolean;
  readonly roundTripMs: number;
  readonly account?: JetStreamAccountStats;
  readonly streams: ReadonlyMap<string, StreamInfo>;
  readonly consumers: ReadonlyMap<string, readonly ConsumerInfo[]>;
  readonly maxPayload: number;
  /** Queries that failed, with the reason. */
  readonly refused: readonly string[];
  /** Faults of the account. */
  readonly problems: readonly BusProblem[];
};

/** Every stream of Holdpoint with its limits. */
export const DECLARED = streams.map(({ name, maxBytes, maxAgeMs, subjects }) => ({
  name,
  maxBytes,
  maxAgeMs,
  subjects,
}));

const NOT_FOUND = 404;
const isMissing = (error: unknown): boolean =>
  error instanceof JetStreamApiError && error.status === NOT_FOUND;
const isForbidden = (error: unknown): boolean =>
  error instanceof PermissionViolationError ||
  (error instanceof RequestError && error.cause instanceof PermissionViolationError);

/** The bus user of the command line. */
const USER = 'operator';

/** The client wraps the errors of the server. */
const reasonsOf = (error: unknown): readonly unknown[] =>
  error instanceof Error && error.cause !== undefined ? [error, ...reasonsOf(error.cause)] : [error];

const problemOf = (error: unknown, serverHasJetStream: boolean): BusProblem | undefined => {
  const reasons = reasonsOf(error);
  const refused = reasons.find((reason) => reason instanceof JetStreamApiError);
  if (refused !== undefined) return accountProblem(refused.code, USER);
  return reasons.some((reason) => reason instanceof errors.NoRespondersError)
    ? unansweredProblem(USER, serverHasJetStream)
    : undefined;
};

/** Reads every declared stream and consumer. Missing permissions are recorded, not thrown. */
export const inspectBus = async (connection: NatsConnection): Promise<BusReport> => {
  const manager = await jetstreamManager(connection, { checkAPI: false });
  const refused: string[] = [];
  const problems = new Map<string, BusProblem>();
  const ask = async <Answer>(what: string, question: () => Promise<Answer>): Promise<Answer | undefined> => {
    try {
      return await question();
    } catch (error) {
      const problem = problemOf(error, connection.info?.jetstream === true);
      if (problem !== undefined) problems.set(problem.message, problem);
      else if (!isMissing(error))
        refused.push(isForbidden(error) ? `${what}: no permission` : `${what}: ${messageOf(error)}`);
      return undefined;
    }
  };
  const roundTripMs = await connection.rtt();
  const account = await ask('account', () => manager.getAccountInfo());
  const seen = new Map<string, StreamInfo>();
  const readers = new Map<string, readonly ConsumerInfo[]>();
  for (const { name } of DECLARED) {
    // Consumers first: a message that arrives in between must not look like a consumer that is ahead.
    const list = await ask(`consumers of ${name}`, () => everyConsumer(manager.consumers.list(name)));
    const info = await ask(`stream ${name}`, () => manager.streams.info(name));
    if (info === undefined) continue;
    seen.set(name, info);
    if (list !== undefined) readers.set(name, list);
  }
  const { version = 'unknown', jetstream = false, max_payload: maxPayload = 0 } = connection.info ?? {};
  return {
    url: connection.getServer(),
    server: version,
    jetstream,
    roundTripMs,
    ...(account && { account }),
    streams: seen,
    consumers: readers,
    maxPayload,
    refused,
    problems: [...problems.values()],
  };
};

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const everyConsumer = async (pages: AsyncIterable<ConsumerInfo>): Promise<readonly ConsumerInfo[]> => {
  const all: ConsumerInfo[] = [];
  for await (const info of pages) all.push(info);
  return all;
};

const serverFinding = ({ url, server, jetstream, roundTripMs, maxPayload }: BusReport): Finding => {
  const message = `NATS ${server} at ${url}, round trip ${String(roundTripMs)} ms`;
  const problem = serverProblem(server, maxPayload);
  if (problem !== undefined) return failOf('nats', problem);
  return jetstream
    ? ok('nats', message)
    : fail('nats', `${message}, without JetStream`, 'start the server with JetStream');
};

/** A problem states its remedy after the colon. */
const failOf = (check: string, { code, message }: BusProblem): Finding => {
  const [fault = message, remedy = ''] = message.split(/: (.*)/s);
  return fail(check, `${code}: ${fault}`, remedy);
};

const limitFindings = ({ account }: BusReport): readonly Finding[] => {
  if (account === undefined) return [];
  const { max_storage: bytes, max_streams: most, max_consumers: readers } = account.limits;
  const isBelow = (limit: number, needed: number): boolean => limit >= 0 && limit < needed;
  const tooLow = [
    ...(isBelow(
      bytes,
      streams.reduce((sum, { maxBytes }) => sum + maxBytes, 0),
    )
      ? [10_047]
      : []),
    ...(isBelow(most, streams.length) ? [10_027] : []),
    ...(isBelow(readers, consumers.length) ? [10_026] : []),
  ];
  return tooLow.flatMap((code) => {
    const problem = accountProblem(code, USER);
    return problem === undefined ? [] : [failOf('jetstream limits', problem)];
  });
};

const FULL_WARN = 0.8;
const FULL_FAIL = 0.95;
const percent = (share: number): string => `${String(Math.floor(share * 100))} %`;

const storageFinding = ({ account }: BusReport): readonly Finding[] => {
  if (account === undefined) return [];
  const { storage, limits } = account;
  const check = 'jetstream disk';
  if (limits.max_storage <= 0)
    return [
      warn(
        check,
        `${sizeText(storage)} used, no limit`,
        'set max_file_store and max_file, so that a full disk stops nothing else',
      ),
    ];
  const share = storage / limits.max_storage;
  const message = `${sizeText(storage)} of ${sizeText(limits.max_storage)} (${percent(share)})`;
  const action =
    'raise max_file_store and max_file if the disk has room; streams will drop their oldest messages';
  if (share >= FULL_FAIL) return [fail(check, message, action)];
  return [share >= FULL_WARN ? warn(check, message, action) : ok(check, message)];
};

const NS_PER_MS = 1_000_000;
const RECREATE = 'start the orchestrator: it creates and updates streams and consumers';

/** The settings of a stream that differ from its declaration. */
export const streamDifferences = (
  { maxBytes, maxAgeMs, subjects }: (typeof DECLARED)[number],
  { config }: Pick<StreamInfo, 'config'>,
): readonly string[] => [
  ...(config.max_bytes === maxBytes ? [] : ['max_bytes']),
  ...(config.max_age === maxAgeMs * NS_PER_MS ? [] : ['max_age']),
  ...(String(config.subjects) === String(subjects) ? [] : ['subjects']),
];

const streamFinding = (declared: (typeof DECLARED)[number], seen: BusReport): Finding | undefined => {
  const { name, maxBytes } = declared;
  const check = `stream ${name}`;
  const info = seen.streams.get(name);
  if (info === undefined)
    return seen.refused.some((text) => text.startsWith(`${check}:`))
      ? undefined
      : fail(check, 'does not exist', RECREATE);
  const { config, state, cluster } = info;
  const differs = streamDifferences(declared, info);
  if (differs.length > 0) return warn(check, `differs from its declaration: ${differs.join(', ')}`, RECREATE);
  if (config.num_replicas > 1 && cluster?.leader === undefined)
    return fail(check, 'has no leader', 'check the other servers of the NATS cluster');
  const behind = (cluster?.replicas ?? []).filter((replica) => replica.offline);
  if (behind.length > 0)
    return warn(
      check,
      `missing replicas: ${behind.map((replica) => replica.name).join(', ')}`,
      'start those servers of the NATS cluster',
    );
  const message = `${String(state.messages)} messages, ${sizeText(state.bytes)} of ${sizeText(maxBytes)}`;
  // These streams are meant to be full: they drop the oldest message. The streams of commands must never drop an unread one.
  return ['HP_CMD', 'HP_IN'].includes(name) && state.bytes >= maxBytes * FULL_WARN
    ? warn(check, message, 'check why the services do not keep up: the oldest commands are dropped first')
    : ok(check, message);
};

/** A larger backlog than services clear in a few seconds. */
const LAG_WARN = 5_000;

const consumerFinding = (
  declared: ConsumerDeclaration,
  info: ConsumerInfo | undefined,
  lastSeq: number | undefined,
): Finding => {
  const check = `consumer ${declared.name}`;
  if (info === undefined) return fail(check, `${declared.stream} has no consumer`, RECREATE);
  if (info.config.filter_subject !== declared.filter)
    return warn(check, `it reads ${String(info.config.filter_subject)}, not ${declared.filter}`, RECREATE);
  const ahead = Math.max(info.delivered.stream_seq, info.ack_floor.stream_seq) - (lastSeq ?? Infinity);
  if (ahead > 0)
    return fail(
      check,
      `${String(ahead)} messages ahead of its stream: new messages are skipped`,
      'check that the orchestrator runs: it creates the consumer again within seconds',
    );
  const { num_pending: pending, num_ack_pending: taken, num_redelivered: again } = info;
  const message = `${String(pending)} waiting, ${String(taken)} in progress, ${String(again)} redelivered`;
  return pending >= LAG_WARN
    ? warn(check, message, `${declared.service} does not keep up: check its log, add replicas`)
    : ok(check, message);
};

/** The declared consumers, and one per executor pool on the bus. */
const declaredConsumers = (seen: BusReport): readonly ConsumerDeclaration[] => {
  const known = new Set(consumers.map(({ name }) => name));
  const pools = (seen.consumers.get('HP_CMD') ?? [])
    .map(({ name }) => name)
    .filter((name) => name.startsWith('executor-') && !known.has(name))
    .map((name) => executorConsumer(name.slice('executor-'.length)));
  return [...consumers, ...pools];
};

export const busFindings = (seen: BusReport): readonly Finding[] => [
  serverFinding(seen),
  ...seen.problems.map((problem) => failOf('nats account', problem)),
  ...limitFindings(seen),
  ...storageFinding(seen),
  ...seen.refused.map((text) =>
    warn(
      'permissions',
      text,
      'use the bus user `operator`, or export its permissions again with `holdpoint nats export`',
    ),
  ),
  ...DECLARED.flatMap((declared) => streamFinding(declared, seen) ?? []),
  ...declaredConsumers(seen).flatMap((declared) => {
    const there = seen.consumers.get(declared.stream);
    return there === undefined
      ? []
      : [
          consumerFinding(
            declared,
            there.find(({ name }) => name === declared.name),
            seen.streams.get(declared.stream)?.state.last_seq,
          ),
        ];
  }),
];

/** Server time of the answer. Servers before 2.10 do not report it. */
export const busClock = (seen: BusReport): number | undefined => {
  for (const info of seen.streams.values()) {
    const time = 'ts' in info && typeof info.ts === 'string' ? Date.parse(info.ts) : Number.NaN;
    if (!Number.isNaN(time)) return time;
  }
  return undefined;
};
