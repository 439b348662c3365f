import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sharesOf } from '../compose/hand-out.ts';
import { generateCredentials } from '../credentials/generate.ts';
import { layout, postgresRoles } from '../credentials/layout.ts';
import { natsManifest, secretManifests } from './secret-manifests.ts';

let credentials = '';
beforeAll(async () => {
  credentials = await mkdtemp(join(tmpdir(), 'holdpoint-k8s-'));
  await generateCredentials(credentials);
});
afterAll(() => rm(credentials, { recursive: true, force: true }));

const secrets = async (): Promise<ReadonlyMap<string, Readonly<Record<string, string>>>> =>
  new Map(
    (await secretManifests(credentials)).map(({ metadata, stringData = {} }) => [metadata.name, stringData]),
  );

describe('the secrets of a cluster', () => {
  test('each service has the same secrets as under compose, with the same names', async () => {
    const made = await secrets();
    for (const { to, secrets: files } of sharesOf(credentials)) {
      const texts = await Promise.all(
        files.map(async ({ from, name }) => [name, await readFile(from, 'utf8')] as const),
      );
      expect(made.get(`holdpoint-${to}`)).toEqual(Object.fromEntries(texts));
    }
  });

  test('the migrations get only the database passwords', async () => {
    expect(Object.keys((await secrets()).get('holdpoint-provision') ?? {})).toEqual(
      postgresRoles.map((role) => `${role}.password`),
    );
  });

  test('only approvals has the key that signs grants', async () => {
    const key = await readFile(layout(credentials).grantKey, 'utf8');
    const holders = [...(await secrets())].filter(([, data]) => Object.values(data).includes(key));
    expect(holders.map(([name]) => name)).toEqual(['holdpoint-approvals']);
  });
});

test('the NATS configuration contains no secret and listens where the manifests expect it', async () => {
  const { data } = await natsManifest(credentials, ['default', 'web']);
  const text = data?.['nats-server.conf'] ?? '';
  expect(text).toContain('listen: "0.0.0.0:4222"');
  expect(text).toContain('http: "0.0.0.0:8222"');
  expect(text).toContain('executor-web');
  for (const made of (await secrets()).values())
    for (const secret of Object.values(made)) expect(text).not.toContain(secret.trim());
});

describe('the command that prints the secrets', () => {
  const run = (...args: readonly string[]) =>
    spawnSync(process.execPath, [join(import.meta.dirname, 'secrets.ts'), ...args], { encoding: 'utf8' });

  test('the secrets are written to a file for its owner only, and never over an existing file', async () => {
    const file = join(credentials, 'secrets.json');
    expect(run('--credentials', credentials, '--nats', '--output', file).status).toBe(0);
    const { items } = JSON.parse(await readFile(file, 'utf8')) as { readonly items: readonly unknown[] };
    expect(items).toEqual([
      ...(await secretManifests(credentials)),
      await natsManifest(credentials, ['default']),
    ]);
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(run('--credentials', credentials, '--output', file).status).toBe(64);
  });

  test('a missing credentials folder is reported, and no secret is printed', () => {
    const { status, stdout, stderr } = run('--credentials', join(credentials, 'nowhere'));
    expect([status, stdout]).toEqual([64, '']);
    expect(stderr).toContain('nowhere');
  });
});
