import type { ErrorCode } from '../values/errors.ts';
import { PAYLOAD_MAX_BYTES, streams } from './streams.ts';

/** The oldest server whose accounts keep the users of Holdpoint apart. */
export const OLDEST_SERVER = { major: 2, minor: 11 } as const;

/** The largest body and its headers. */
const MAX_PAYLOAD_LEAST = PAYLOAD_MAX_BYTES + 65_536;

const MIB = 1024 * 1024;

/** Limits of the account of the streams; `diskMib` counts each replica. Some room is for streams of a later release. */
export const ACCOUNT_NEEDS = {
  diskMib: Math.ceil(streams.reduce((sum, { maxBytes }) => sum + maxBytes, 0) / MIB) + 512,
  streams: streams.length + 12,
  consumers: 512,
} as const;

/** A fault of the server or the account, with the remedy. */
export type BusProblem = { readonly code: ErrorCode; readonly message: string };

export const serverProblem = (version: string, maxPayload: number): BusProblem | undefined => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const { major: oldest, minor: least } = OLDEST_SERVER;
  if (major < oldest || (major === oldest && minor < least))
    return {
      code: 'BUS_SERVER_TOO_OLD',
      message: `NATS ${version} is too old: use ${String(oldest)}.${String(least)} or later`,
    };
  return maxPayload < MAX_PAYLOAD_LEAST
    ? {
        code: 'BUS_LIMITS_TOO_LOW',
        message: `max_payload of NATS is ${String(maxPayload)} bytes: set it to ${String((2 * PAYLOAD_MAX_BYTES) / MIB)}MB`,
      }
    : undefined;
};

const { diskMib, streams: streamsMax, consumers: consumersMax } = ACCOUNT_NEEDS;

const tooLow = (message: string): BusProblem => ({ code: 'BUS_LIMITS_TOO_LOW', message });
const tooLittleDisk = tooLow(
  `JetStream allows this account too little disk: allow ${String(diskMib)} MiB per replica`,
);
const noAccount: BusProblem = {
  code: 'BUS_JETSTREAM_MISSING',
  message: `the account of the streams has no JetStream: allow it ${String(diskMib)} MiB of disk`,
};

const withoutJetStream: BusProblem = {
  code: 'BUS_JETSTREAM_MISSING',
  message: 'NATS runs without JetStream: enable it with a store_dir',
};

/** By error code of the JetStream API. */
const API_PROBLEMS: Readonly<Record<number, BusProblem>> = {
  10_076: {
    code: 'BUS_JETSTREAM_MISSING',
    message: 'NATS runs without JetStream: enable it with a store_dir',
  },
  10_035: noAccount,
  10_039: noAccount,
  10_120: noAccount,
  10_002: tooLittleDisk,
  10_023: tooLittleDisk,
  10_047: tooLittleDisk,
  10_122: tooLittleDisk,
  10_027: tooLow(`JetStream allows this account too few streams: allow ${String(streamsMax)}`),
  10_026: tooLow(`JetStream allows this account too few consumers: allow ${String(consumersMax)}`),
};

const importMissing = (user: string): BusProblem => ({
  code: 'BUS_IMPORT_MISSING',
  message: `the account of ${user} reaches no stream: import \`holdpoint nats export\` again`,
});

/** The users in the account of the streams. The accounts of the others import the JetStream API. */
const AT_THE_STREAMS: ReadonlySet<string> = new Set(['orchestrator', 'topology']);

/** The remedy for an error of the JetStream API that a user got; undefined for errors that may pass. */
export const accountProblem = (errorCode: number, user: string): BusProblem | undefined => {
  const problem = API_PROBLEMS[errorCode];
  return problem === noAccount && !AT_THE_STREAMS.has(user) ? importMissing(user) : problem;
};

/** The remedy where nothing answers the requests of a user to JetStream. */
export const unansweredProblem = (user: string, serverHasJetStream: boolean): BusProblem =>
  serverHasJetStream ? importMissing(user) : withoutJetStream;
