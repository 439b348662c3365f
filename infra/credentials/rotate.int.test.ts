import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generateCredentials } from './generate.ts';
import { layout } from './layout.ts';
import { parseTrust } from './trust.ts';
import { GRANT_VALID_MS, rotateKey, type Step } from './rotate.ts';

let dir = '';
beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), 'holdpoint-rotate-')), 'credentials');
  await generateCredentials(dir);
});
afterEach(() => rm(join(dir, '..'), { recursive: true, force: true }));

const PEM = /-----BEGIN [A-Z ]+-----[^-]+-----END [A-Z ]+-----/g;
const publicText = (key: KeyObject): string =>
  createPublicKey(
    key.type === 'public'
      ? key.export({ type: 'spki', format: 'pem' })
      : key.export({ type: 'pkcs8', format: 'pem' }),
  )
    .export({ type: 'spki', format: 'pem' })
    .toString();

/** The public half of each key in both files, and whether its private half exists. */
const files = async () => {
  const read = async (path: string) => (await readFile(path, 'utf8')).match(PEM) ?? [];
  const held = await read(layout(dir).grantKey);
  return {
    signing: held.filter((pem) => pem.includes('PRIVATE')).map((pem) => publicText(createPrivateKey(pem))),
    retired: held.filter((pem) => pem.includes('PUBLIC')).map((pem) => publicText(createPublicKey(pem))),
    known: (await read(layout(dir).grantPublicKeys)).map((pem) => publicText(createPublicKey(pem))),
  };
};
const now = Date.now() + GRANT_VALID_MS + 60_000;
const rotate = (step: Step) => rotateKey(dir, step, { now });

describe('a rotation of the signing key', () => {
  test('the signing key changes in three steps, and verifiers always know the key in use', async () => {
    const {
      signing: [old],
    } = await files();
    await rotate('add');
    const added = await files();
    const [, next] = added.signing;
    expect(added).toEqual({ signing: [old, next], retired: [], known: [old, next] });
    await rotate('use');
    expect(await files()).toEqual({ signing: [next, old], retired: [], known: [old, next] });
    await rotate('retire');
    expect(await files()).toEqual({ signing: [next], retired: [old], known: [next] });
    // The next rotation.
    for (const step of ['add', 'use', 'retire'] as const) await rotate(step);
    const { signing, retired, known } = await files();
    expect([signing.length, retired, known]).toEqual([1, [old, next], signing]);
  });

  test('the files of a rotation are readable by their owner only, and none is left over', async () => {
    const before = (await readdir(dir)).toSorted();
    await rotate('add');
    expect((await readdir(dir)).toSorted()).toEqual(before);
    for (const path of [layout(dir).grantKey, layout(dir).grantPublicKeys])
      expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('the folder is complete after every step of a rotation', async () => {
    for (const step of ['add', 'use', 'retire'] as const) {
      await rotate(step);
      expect(await generateCredentials(dir)).toEqual([]);
    }
  });

  test.each<[readonly Step[], Step, string]>([
    [[], 'use', 'there is no second key'],
    [[], 'retire', 'there is no old key'],
    [['add'], 'add', 'another key exists already'],
    [['add'], 'retire', 'the old key still signs'],
    [['add', 'use'], 'use', 'the new key already signs'],
    [['add', 'use'], 'add', 'another key exists already'],
  ])('after %j the step %s is refused', async (before, step, problem) => {
    for (const each of before) await rotate(each);
    const held = await files();
    await expect(rotate(step)).rejects.toThrow(problem);
    expect(await files()).toEqual(held);
  });

  test('the old key stays until its grants expire, unless its removal is forced', async () => {
    await rotate('add');
    await rotate('use');
    const early = { now: Date.now() };
    for (const step of ['add', 'use'] as const)
      await expect(rotateKey(dir, step, { ...early, early: true })).rejects.toThrow('takes no --early');
    await expect(rotateKey(dir, 'retire', early)).rejects.toThrow(/in use for another (59|60) min/);
    await rotateKey(dir, 'retire', { ...early, early: true });
    expect((await files()).retired).toHaveLength(1);
  });

  test.each(['orchestrator', 'recovery'] as const)(
    'the key of the %s changes in three steps, and the trust file keeps the old one as retired',
    async (service) => {
      const trust = async () => parseTrust(await readFile(layout(dir).trust, 'utf8'));
      const before = await trust();
      const [old] = before[service];
      for (const step of ['add', 'use'] as const) await rotateKey(dir, step, { now }, service);
      const both = await trust();
      expect(both[service]).toHaveLength(2);
      expect(both[service][0]).toBe(old);
      const signing = createPrivateKey(await readFile(layout(dir).sealKey(service), 'utf8'));
      expect(publicText(signing)).toBe(both[service][1]);
      await rotateKey(dir, 'retire', { now }, service);
      expect(await trust()).toEqual({ ...before, [service]: [both[service][1]], retired: [old] });
      expect(await generateCredentials(dir)).toEqual([]);
    },
  );
});
