import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { connectToBus } from './connect.ts';

/** A port without a listener. */
const freePort = async (): Promise<number> => {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
};

test('a connection without a server fails with RUNTIME_UNAVAILABLE', async () => {
  await expect(connectToBus({ url: `nats://127.0.0.1:${String(await freePort())}` })).rejects.toMatchObject({
    code: 'RUNTIME_UNAVAILABLE',
    message: 'NATS does not answer: check that it runs',
  });
});

test.each([
  ['is missing', undefined],
  ['is empty', ''],
  ['has other content', 'a secret'],
])(
  'a seed file that %s is refused before any connection, without showing its content',
  async (_what, text) => {
    const folder = await mkdtemp(join(tmpdir(), 'holdpoint-connect-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const seedFile = join(folder, 'worker.seed');
    if (text !== undefined) await writeFile(seedFile, text);
    const refusal: unknown = await connectToBus({ url: 'nats://127.0.0.1:1', seedFile }).catch(
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({ code: 'BUS_LOGIN_INVALID' });
    expect(String(refusal)).not.toContain('a secret');
  },
);
