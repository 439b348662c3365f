import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { generateCredentials } from '@holdpoint/infra/credentials/generate';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { startRefusingNats } from '@holdpoint/runtime/testing/refusing-nats';
import { afterAll, beforeAll, expect, test } from 'vitest';

let credentialsDir = '';
beforeAll(async () => {
  credentialsDir = await mkdtemp(join(tmpdir(), 'holdpoint-late-'));
  await generateCredentials(credentialsDir);
});
afterAll(() => rm(credentialsDir, { recursive: true }));

test('a client of the tests repeats a login that reaches the bus too late, as services do', async () => {
  const { url, connections } = await startRefusingNats('Authentication Timeout', 3);
  const connection = await connectAs({ url, credentialsDir, user: 'operator' });
  expect(connections()).toBe(4);
  await connection.close();
});

test('a client of the tests repeats no login that the bus refuses', async () => {
  const { url, connections } = await startRefusingNats('Authorization Violation', 3);
  await expect(connectAs({ url, credentialsDir, user: 'operator' })).rejects.toThrow(
    'Authorization Violation',
  );
  expect(connections()).toBe(1);
});
