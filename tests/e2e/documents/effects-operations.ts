import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import { layout } from '@holdpoint/infra/credentials/layout';
import { readPublicNkeys } from '@holdpoint/infra/credentials/read';
import { expect } from 'vitest';
import { startPostgresServer } from '../../kit/stack/postgres-server.ts';
import { until } from '../../kit/until.ts';
import type { Reader, Effect } from './reader.ts';

/** A person's message that no service can handle, and the reason in its dead letter. */
const bury = ({ system }: Reader, body: string): string => {
  system.client.connection.publish('hp.cmd.task.submit', body);
  return 'CONTRACT_NOT_JSON';
};

export const expectDeadLettersListed: Effect = async (reader, words) => {
  const code = bury(reader, 'unreadable by any service');
  const line = await until('the dead letter is listed', async () =>
    (await reader.enter(words)).split('\n').find((each) => each.includes('unreadable by any service')),
  );
  expect(line).toMatch(new RegExp(`^orchestrator-\\d+ .* ${code} +hp\\.in\\.task\\.submit `));
};

export const expectCredentials: Effect = async (reader, words) => {
  const folder = reader.valueOf('folder');
  expect(await reader.enter(words)).toContain(`made ${join(folder, 'grant.key.pem')}\n`);
  const files = await readdir(folder, { recursive: true });
  for (const file of [
    'operator.token',
    'principals.json',
    'nats/topology.seed',
    'postgres/hp_executor.password',
  ])
    expect(files).toContain(file);
  const { mtimeMs } = await stat(join(folder, 'operator.token'));
  expect(await reader.enter(words)).toContain('nothing was changed');
  expect((await stat(join(folder, 'operator.token'))).mtimeMs).toBe(mtimeMs);
};

export const expectKeyAdded: Effect = async (reader, words) => {
  const { grantKey } = layout(reader.valueOf('folder'));
  const keys = async (): Promise<number> =>
    (await readFile(grantKey, 'utf8')).split('BEGIN PRIVATE').length - 1;
  expect(await keys()).toBe(1);
  expect(await reader.enter(words)).toContain('a new key was added; it signs nothing yet');
  expect(await keys()).toBe(2);
};

export const expectServerConfig: Effect = async (reader, words) => {
  const printed = await reader.enter(words);
  for (const key of Object.values(await readPublicNkeys(reader.valueOf('folder'))))
    expect(printed).toContain(key);
  expect(printed).toContain('_INBOX_orchestrator');
};

export const expectDatabase: Effect = async (reader, words) => {
  const { run, folder } = reader.system;
  const credentialsDir = run.credentialsDir;
  const server = await startPostgresServer(run.backend, { folder, runFolder: run.folder, credentialsDir });
  try {
    const { user, host, port } = server.admin;
    const env = {
      HOLDPOINT_ADMIN_DATABASE_URL: `postgres://${user}@${host}:${String(port)}/postgres`,
      HOLDPOINT_CREDENTIALS: credentialsDir,
    };
    const first = await reader.enter(words, { env });
    for (const service of SERVICES) expect(first).toMatch(new RegExp(`^${service}: applied 0001_`, 'm'));
    // The documents promise: "It may be run again, and by several at once."
    for (const again of await Promise.all([1, 2].map(() => reader.enter(words, { env }))))
      expect(again).toBe(SERVICES.map((service) => `${service}: up to date\n`).join(''));
  } finally {
    await server.remove();
  }
};
