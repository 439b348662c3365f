import { z } from 'zod';
import { filters, type ServiceName, subjects, TOKEN } from './subjects.ts';

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;

/**
 * Maximum body of a message. The server's `max_payload` is larger, so that oversized bodies are refused
 * with a code.
 */
export const PAYLOAD_MAX_BYTES = MIB;

/**
 * A JetStream stream. Streams use limits retention: work-queue retention leaks acknowledged messages when
 * a server crashes.
 */
export type StreamDeclaration = {
  readonly name: string;
  readonly subjects: readonly string[];
  readonly description: string;
  readonly maxAgeMs: number;
  readonly maxBytes: number;
  /** How long JetStream detects duplicates of a `Nats-Msg-Id`. It must cover the resends of one send. */
  readonly duplicateWindowMs: number;
};

/** A durable pull consumer with explicit acknowledgement, shared by all replicas of its service. */
export type ConsumerDeclaration = {
  readonly name: string;
  readonly stream: string;
  readonly service: ServiceName;
  readonly filter: string;
  readonly description: string;
  /** Far longer than a batch commit. No work runs while a message is unacknowledged. */
  readonly ackWaitMs: number;
  readonly maxAckPending: number;
};

/**
 * Deliveries before a message becomes a dead letter. The server has no limit of its own: it would silently
 * drop messages that were only returned during a database outage.
 */
export const DELIVERIES_MAX = 5;

const stream = (
  name: string,
  subject: string,
  description: string,
  maxAgeMs: number,
  maxBytes: number,
): StreamDeclaration => ({
  name,
  subjects: [subject],
  description: `Holdpoint: ${description}`,
  maxAgeMs,
  maxBytes,
  duplicateWindowMs: 120_000,
});

export const streams = [
  stream('HP_CMD', filters.commands, 'commands to the services', 72 * HOUR_MS, 1024 * MIB),
  stream(
    'HP_IN',
    filters.peopleCommands,
    'commands from people, with their own message ids',
    72 * HOUR_MS,
    512 * MIB,
  ),
  stream('HP_EVT', filters.events, 'events of the services', 7 * 24 * HOUR_MS, 2048 * MIB),
  stream(
    'HP_WORK',
    filters.work,
    'phases of TypeScript workflows, for their workers',
    24 * HOUR_MS,
    512 * MIB,
  ),
  stream('HP_LOG', filters.logs, 'live output of running work', 24 * HOUR_MS, 256 * MIB),
] as const satisfies readonly StreamDeclaration[];

/** Acknowledgement wait of every consumer, in milliseconds. */
export const ACK_WAIT_MS = 30_000;

const consumer = (
  name: string,
  stream: (typeof streams)[number]['name'],
  service: ServiceName,
  filter: string,
): ConsumerDeclaration => ({
  name,
  stream,
  service,
  filter,
  description: `Holdpoint: ${service} reads ${filter}`,
  ackWaitMs: ACK_WAIT_MS,
  maxAckPending: 5_000,
});

/** The consumer shared by all workers of one workflow version. The orchestrator creates it when the version is registered. */
export const workConsumer = (hash: string): Omit<ConsumerDeclaration, 'service'> => ({
  name: `work-${hash}`,
  stream: 'HP_WORK',
  filter: subjects.work(hash),
  description: `Holdpoint: workers of the workflow version ${hash}`,
  ackWaitMs: ACK_WAIT_MS,
  maxAckPending: 5_000,
});

/** Pool of effects whose workflow names none. */
export const DEFAULT_POOL = 'default';

export const executorConsumer = (pool: string): ConsumerDeclaration =>
  consumer(`executor-${pool}`, 'HP_CMD', 'executor', filters.effectCommands(pool));

/** Each pool has a consumer, which the bus maintains even without readers. */
const POOLS_MAX = 64;

/** Pools in a setting: comma-separated names. */
export const Pools = z
  .string()
  .transform((text): readonly string[] => [...new Set(text.split(',').map((name) => name.trim()))])
  .refine(
    (names) => names.length <= POOLS_MAX && names.every((name) => TOKEN.test(name)),
    `names of letters, digits, - and _, comma-separated, at most ${String(POOLS_MAX)}`,
  );

export const consumers: readonly ConsumerDeclaration[] = [
  consumer('orchestrator', 'HP_CMD', 'orchestrator', filters.taskCommands),
  consumer('orchestrator-people', 'HP_IN', 'orchestrator', filters.peopleCommands),
  consumer('orchestrator-approval', 'HP_EVT', 'orchestrator', filters.approvalsResolved),
  consumer('orchestrator-effect', 'HP_EVT', 'orchestrator', filters.eventsOf('effect')),
  consumer('approvals', 'HP_CMD', 'approvals', filters.approvalCommands),
  consumer('approvals-effect', 'HP_EVT', 'approvals', filters.eventsOf('effect')),
  executorConsumer(DEFAULT_POOL),
  consumer('recovery', 'HP_CMD', 'recovery', filters.recoveryCommands),
];

/** Every consumer of a deployment with these pools, including the default pool. */
export const consumersFor = (pools: readonly string[]): readonly ConsumerDeclaration[] => [
  ...consumers,
  ...[...new Set(pools)].filter((pool) => pool !== DEFAULT_POOL).map(executorConsumer),
];
