import { setTimeout as delay } from 'node:timers/promises';
import {
  accountProblem,
  type BusProblem,
  serverProblem,
  unansweredProblem,
} from '@holdpoint/contracts/bus/server-needs';
import { type ConsumerDeclaration, consumers } from '@holdpoint/contracts/bus/streams';
import { USER_INFO } from '@holdpoint/contracts/bus/subjects';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { JetStreamApiError } from '@nats-io/jetstream';
import { errors, type Msg, type NatsConnection } from '@nats-io/transport-node';
import { z } from 'zod';

const ANSWER_MS = 3_000;
/** The interests of other servers of a cluster reach a new one within this time. */
const LOOKS = 5;
const LOOK_AGAIN_MS = 500;

const ApiAnswer = z.object({ error: z.object({ err_code: z.number() }).optional() });

const refusal = ({ code, message }: BusProblem, cause?: unknown): HoldpointError =>
  new HoldpointError(code, message, { cause });

const wrongUser = (user: string, cause?: unknown): HoldpointError =>
  refusal(
    { code: 'BUS_USER_WRONG', message: `this login is not that of the bus user ${user}: check its file` },
    cause,
  );

const lookAt = ({ stream, name }: Pick<ConsumerDeclaration, 'stream' | 'name'>): string =>
  `$JS.API.CONSUMER.INFO.${stream}.${name}`;

/** A request of the JetStream API that only this user may send. */
const ownRequest = (user: string): string => {
  const own = consumers.find(({ service }) => service === user);
  return own === undefined ? '$JS.API.INFO' : lookAt(own);
};

const UserInfo = z.object({
  data: z.object({
    permissions: z.object({ subscribe: z.object({ allow: z.array(z.string()) }) }).optional(),
  }),
});

/** Asks again while nothing responds: the interests of a cluster reach a new server late. */
const ask = async (connection: NatsConnection, subject: string, user: string): Promise<Msg | undefined> => {
  for (let looks = 1; ; looks += 1) {
    try {
      return await connection.request(subject, '', { timeout: ANSWER_MS });
    } catch (error) {
      const reason = error instanceof errors.RequestError ? (error.cause ?? error) : error;
      if (reason instanceof errors.PermissionViolationError) throw wrongUser(user, error);
      // A bus that is still starting.
      if (reason instanceof errors.TimeoutError) return undefined;
      if (!(reason instanceof errors.NoRespondersError)) throw error;
      if (looks === LOOKS) throw refusal(unansweredProblem(user, connection.info?.jetstream === true), error);
    }
    await delay(LOOK_AGAIN_MS);
  }
};

/** A login with more rights, or with those of an account of others, must not become this user. */
const checkUser = async (connection: NatsConnection, user: string, inboxPrefix: string): Promise<void> => {
  const answer = await ask(connection, USER_INFO, user);
  if (answer === undefined) return;
  const { permissions } = UserInfo.parse(answer.json()).data;
  if (permissions?.subscribe.allow.includes(`${inboxPrefix}.>`) !== true) throw wrongUser(user);
};

/** The error code in an answer of JetStream; undefined without one. */
const askJetStream = async (connection: NatsConnection, user: string): Promise<number | undefined> => {
  const answer = await ask(connection, ownRequest(user), user);
  return answer && ApiAnswer.parse(answer.json()).error?.err_code;
};

/** Without this check an executor asks forever for a pool that the permissions of the bus lack. */
const checkReads = async (
  connection: NatsConnection,
  user: string,
  reads: readonly ConsumerDeclaration[],
): Promise<void> => {
  for (const consumer of reads)
    try {
      await ask(connection, lookAt(consumer), user);
    } catch (cause) {
      if (!(cause instanceof HoldpointError && cause.code === 'BUS_USER_WRONG')) throw cause;
      const message = `the bus user ${user} may not read ${consumer.name}: list the pool in HOLDPOINT_DEPLOYMENT_POOLS`;
      throw refusal({ code: 'BUS_USER_WRONG', message }, cause);
    }
};

export type Login = {
  readonly inboxPrefix: string;
  readonly hasLogin: boolean;
  /** Consumers beside those of the contracts that this login reads. */
  readonly reads?: readonly ConsumerDeclaration[] | undefined;
};

/**
 * Checks what a restart cannot mend: the version and limits of the server, the user of the login, and the way of its account to
 * the streams. Throws `HoldpointError` with a `BUS_` code.
 */
export const examineBus = async (
  connection: NatsConnection,
  user: string,
  { inboxPrefix, hasLogin, reads = [] }: Login,
): Promise<void> => {
  const { version = '', max_payload = 0 } = connection.info ?? {};
  const unfit = serverProblem(version, max_payload);
  if (unfit !== undefined) throw refusal(unfit);
  if (hasLogin) await checkUser(connection, user, inboxPrefix);
  const code = await askJetStream(connection, user);
  const problem = code === undefined ? undefined : accountProblem(code, user);
  if (problem !== undefined) throw refusal(problem);
  await checkReads(connection, user, reads);
};

/** The remedy for an error of the user that creates streams, if there is one; else the error itself. */
export const withRemedy = (error: unknown): unknown => {
  const problem = error instanceof JetStreamApiError ? accountProblem(error.code, 'topology') : undefined;
  return problem === undefined ? error : refusal(problem, error);
};
