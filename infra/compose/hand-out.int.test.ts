import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generateCredentials } from '../credentials/generate.ts';
import { layout } from '../credentials/layout.ts';
import { handOut, sharesOf } from './hand-out.ts';

let dir = '';
let credentials = '';
let handedOut = '';

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-hand-out-'));
  credentials = join(dir, 'credentials');
  handedOut = join(dir, 'handed-out');
  await generateCredentials(credentials);
  for (const { to } of sharesOf(credentials)) await mkdir(join(handedOut, to), { recursive: true });
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const contents = async (): Promise<Readonly<Record<string, readonly string[]>>> => {
  const folders = (await readdir(handedOut)).toSorted();
  const names = folders.map(async (to) => [to, (await readdir(join(handedOut, to))).toSorted()] as const);
  return Object.fromEntries(await Promise.all(names));
};

const EXPECTED = {
  approvals: [
    'grant.key.pem',
    'join.secret',
    'nats.seed',
    'postgres.password',
    'principals.json',
    'trust.json',
  ],
  executor: ['join.secret', 'nats.seed', 'postgres.password', 'trust.json'],
  operator: ['nats.seed', 'operator.token'],
  orchestrator: ['nats.seed', 'orchestrator.key.pem', 'postgres.password', 'topology.seed', 'trust.json'],
  postgres: ['hp_admin.password'],
  recovery: ['nats.seed', 'postgres.password', 'recovery.key.pem', 'trust.json'],
  worker: ['nats.seed'],
};

describe('secrets for containers', () => {
  test('each container gets its own secrets and no others', async () => {
    await handOut(credentials, handedOut);
    expect(await contents()).toEqual(EXPECTED);
    const files = layout(credentials);
    expect(await readFile(join(handedOut, 'executor/nats.seed'), 'utf8')).toBe(
      await readFile(files.natsSeed('executor'), 'utf8'),
    );
    expect(await readFile(join(handedOut, 'recovery/postgres.password'), 'utf8')).toBe(
      await readFile(files.postgresPassword('hp_recovery'), 'utf8'),
    );
  });

  test('each secret has one holder, the join secret two, and only approvals has the signing key', async () => {
    const { grantKey, trust, joinSecret } = layout(credentials);
    const all = sharesOf(credentials).flatMap(({ secrets }) => secrets.map(({ from }) => from));
    expect(all.filter((from) => from === joinSecret)).toHaveLength(2);
    // Public keys are no secret.
    const single = all.filter((from) => from !== trust && from !== joinSecret);
    const texts = await Promise.all(single.map((from) => readFile(from, 'utf8')));
    expect(new Set(texts).size).toBe(texts.length);
    const holders = sharesOf(credentials).filter(({ secrets }) =>
      secrets.some(({ from }) => from === grantKey),
    );
    expect(holders.map(({ to }) => to)).toEqual(['approvals']);
  });

  test('only the owner can read the files; the group can read the first password of PostgreSQL too', async () => {
    await handOut(credentials, handedOut);
    for (const [to, names] of Object.entries(EXPECTED)) {
      for (const name of names) {
        const { mode } = await stat(join(handedOut, to, name));
        expect([to, name, (mode & 0o777).toString(8)]).toEqual([to, name, to === 'postgres' ? '440' : '400']);
      }
    }
  });

  test('a second hand-out follows the credentials and removes obsolete files', async () => {
    await handOut(credentials, handedOut);
    await writeFile(join(handedOut, 'recovery', 'grant.key.pem'), 'left by an earlier release');
    await rm(layout(credentials).postgresPassword('hp_executor'));
    await generateCredentials(credentials);
    await handOut(credentials, handedOut);
    expect(await contents()).toEqual(EXPECTED);
    expect(await readFile(join(handedOut, 'executor/postgres.password'), 'utf8')).toBe(
      await readFile(layout(credentials).postgresPassword('hp_executor'), 'utf8'),
    );
  });
});
