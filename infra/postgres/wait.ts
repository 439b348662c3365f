import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVICES, type ServiceName } from '@holdpoint/contracts/bus/subjects';
import { Client } from 'pg';
import { roleOf } from '../credentials/layout.ts';
import { root } from '../local/folders.ts';
import { messageOf } from '../local/problem.ts';
import { missingMigrations } from './migrate.ts';

/** Waits until the schema of a service has every migration of this release, so that the service starts on it. */
const EVERY_MS = 1_000;
const SAY_AGAIN_MS = 30_000;
const CONNECT_WITHIN_MS = 5_000;
const EXIT_USAGE = 64;

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const isService = (name: string | undefined): name is ServiceName => SERVICES.some((each) => each === name);

const setting = (name: string): string => {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is missing`);
  return value;
};

/** The reason why the service cannot start yet; undefined if it can. */
const obstacle = async (service: ServiceName, url: URL): Promise<string | undefined> => {
  const passwordFile = setting('HOLDPOINT_DATABASE_PASSWORD_FILE');
  const client = new Client({
    host: url.hostname,
    port: Number(url.port || 5_432),
    user: decodeURIComponent(url.username) || roleOf(service),
    database: decodeURIComponent(url.pathname.slice(1)),
    ssl: !['disable', null].includes(url.searchParams.get('sslmode')),
    password: (await readFile(passwordFile, 'utf8')).trim(),
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    application_name: `holdpoint wait ${service}`,
  });
  // A connection that ends is a failed query below.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const missing = await missingMigrations(client, service, join(root, 'services', service, 'migrations'));
    return missing.length === 0 ? undefined : `the schema lacks ${missing.join(', ')}`;
  } catch (error) {
    return messageOf(error);
  } finally {
    await client.end();
  }
};

const wait = async (service: ServiceName): Promise<void> => {
  const url = new URL(setting('HOLDPOINT_DATABASE_URL'));
  let said: { readonly reason: string; readonly at: number } | undefined;
  for (;;) {
    const reason = await obstacle(service, url);
    if (reason === undefined) return say(`${service}: the schema is ready`);
    if (said?.reason !== reason || performance.now() - said.at > SAY_AGAIN_MS) {
      say(`${service} waits for its schema: ${reason}`);
      said = { reason, at: performance.now() };
    }
    await sleep(EVERY_MS);
  }
};

const [service] = process.argv.slice(2);
try {
  if (!isService(service)) throw new Error(`usage: node infra/postgres/wait.ts <${SERVICES.join('|')}>`);
  await wait(service);
} catch (error) {
  process.stderr.write(`wait: ${messageOf(error)}\n`);
  process.exit(EXIT_USAGE);
}
