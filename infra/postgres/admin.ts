import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { ClientConfig } from 'pg';
import { codeOf, messageOf, Problem } from '../local/problem.ts';

export type AdminConnection = Required<
  Pick<ClientConfig, 'host' | 'port' | 'user' | 'password' | 'database'>
> &
  Pick<ClientConfig, 'ssl'>;

// Not there yet, still starting, or shutting down to start again.
const PASSING = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  '57P01',
  '57P03',
]);

const CONNECT_WITHIN_MS = 5_000;

const connectOnce = async (admin: AdminConnection): Promise<Client> => {
  const client = new Client({
    ...admin,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    application_name: 'holdpoint provision',
  });
  // A connection that breaks between two statements would otherwise end the process; the next statement reports it.
  client.on('error', () => undefined);
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
};

const isPassing = (error: unknown): boolean =>
  PASSING.has(codeOf(error) ?? '') || /timeout|terminated unexpectedly/i.test(messageOf(error));

/** Connects, asking again as long as the server is not up. A refusal (a wrong password, say) is final. */
export const connectAdmin = async (admin: AdminConnection, waitMs = 0): Promise<Client> => {
  const deadline = performance.now() + waitMs;
  for (;;) {
    try {
      return await connectOnce(admin);
    } catch (error) {
      if (isPassing(error) && performance.now() < deadline) {
        await sleep(250);
        continue;
      }
      const where = `${admin.user} at ${admin.host}:${admin.port}/${admin.database}`;
      throw new Problem(`PostgreSQL does not let in ${where}: ${messageOf(error) || String(codeOf(error))}`, {
        cause: error,
      });
    }
  }
};

export const withAdmin = async <Result>(
  admin: AdminConnection,
  work: (client: Client) => Promise<Result>,
  waitMs = 0,
): Promise<Result> => {
  const client = await connectAdmin(admin, waitMs);
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};
