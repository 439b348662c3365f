import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { layout } from '@holdpoint/infra/credentials/layout';
import { connectToBus } from '@holdpoint/sdk';
import { nkeys } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { createSystem, type System } from '../../kit/stack/system.ts';

let system: System;
beforeAll(async () => {
  system = await createSystem();
});
afterAll(() => system.stop());

test.each(['worker', 'operator'] as const)('a client with the seed of %s connects', async (user) => {
  const seedFile = layout(system.run.credentialsDir).natsSeed(user);
  const connection = await connectToBus({ url: system.nats.url, seedFile, user });
  onTestFinished(() => connection.close());
  expect(await connection.rtt()).toBeGreaterThanOrEqual(0);
});

test.each(['with another seed', 'without a seed'])('a client %s is refused at once', async (how) => {
  const seedFile = join(system.folder, 'stranger.seed');
  await writeFile(seedFile, nkeys.createUser().getSeed());
  const options = { url: system.nats.url, ...(how === 'with another seed' && { seedFile }) };
  await expect(connectToBus(options)).rejects.toMatchObject({
    code: 'ERR_FORBIDDEN',
    message: 'NATS refused the user worker: check its login file',
  });
});
