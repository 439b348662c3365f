import { createPrivateKey, createPublicKey } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fromSeed } from '@nats-io/nkeys';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { generateCredentials, tokenDigest } from './generate.ts';
import { layout, natsUsers, postgresRoles } from './layout.ts';

let dir = '';
beforeEach(async () => {
  dir = join(await mkdtemp(join(tmpdir(), 'holdpoint-credentials-')), 'credentials');
});
afterEach(() => rm(join(dir, '..'), { recursive: true, force: true }));

const everything = async (): Promise<ReadonlyMap<string, string>> => {
  const names = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = names.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  return new Map(await Promise.all(files.map(async (file) => [file, await readFile(file, 'utf8')] as const)));
};

const modeOf = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);

describe('a credentials folder', () => {
  test('a credentials folder is readable by its owner only', async () => {
    await generateCredentials(dir);
    for (const folder of [dir, join(dir, 'nats'), join(dir, 'postgres')])
      expect(await modeOf(folder)).toBe('700');
    for (const file of (await everything()).keys()) expect([file, await modeOf(file)]).toEqual([file, '600']);
  });

  test('a credentials folder has a key per bus user, a password per role, and matching key pairs', async () => {
    await generateCredentials(dir);
    const files = layout(dir);
    for (const user of natsUsers) {
      const seed = await readFile(files.natsSeed(user));
      expect(fromSeed(seed).getPublicKey()).toBe((await readFile(files.natsPublicKey(user), 'utf8')).trim());
    }
    const passwords = await Promise.all(
      postgresRoles.map((role) => readFile(files.postgresPassword(role), 'utf8')),
    );
    expect(new Set(passwords).size).toBe(postgresRoles.length);
    const derived = createPublicKey(createPrivateKey(await readFile(files.grantKey))).export({
      type: 'spki',
      format: 'pem',
    });
    expect(await readFile(files.grantPublicKeys, 'utf8')).toBe(derived);
    const token = (await readFile(files.operatorToken, 'utf8')).trim();
    expect(token).toMatch(/^hpt_[\w-]{43}$/);
    const second = (await readFile(files.approverToken, 'utf8')).trim();
    expect(JSON.parse(await readFile(files.principals, 'utf8'))).toEqual({
      principals: [
        { name: 'operator', groups: ['operators'], tokenSha256: tokenDigest(token) },
        { name: 'approver', groups: ['operators'], tokenSha256: tokenDigest(second) },
      ],
    });
  });

  test('a second run keeps the folder unchanged', async () => {
    const created = await generateCredentials(dir);
    const before = await everything();
    expect(created.length).toBe(before.size);
    expect(await generateCredentials(dir)).toEqual([]);
    expect(await everything()).toEqual(before);
  });

  test('two runs at once create one folder', async () => {
    await Promise.all([generateCredentials(dir), generateCredentials(dir), generateCredentials(dir)]);
    expect(await generateCredentials(dir)).toEqual([]);
  });

  test('a repair restores only the missing files', async () => {
    await generateCredentials(dir);
    const before = await everything();
    const lost = layout(dir).postgresPassword('hp_executor');
    await rm(lost);
    expect(await generateCredentials(dir)).toEqual([lost]);
    const after = await everything();
    expect([...after].filter(([file, text]) => before.get(file) !== text).map(([file]) => file)).toEqual([
      lost,
    ]);
  });

  test('a custom list of principals gets no additional operator', async () => {
    await generateCredentials(dir);
    await rm(layout(dir).operatorToken);
    expect(await generateCredentials(dir)).toEqual([]);
  });

  test('mismatched halves of a key pair are refused', async () => {
    await generateCredentials(dir);
    const files = layout(dir);
    await writeFile(files.natsPublicKey('monitor'), await readFile(files.natsPublicKey('operator')));
    await expect(generateCredentials(dir)).rejects.toThrow('monitor.pub is not the public key of');
  });

  test('a grant key without its public half is refused', async () => {
    await generateCredentials(dir);
    await rm(layout(dir).grantKey);
    await expect(generateCredentials(dir)).rejects.toThrow('lacks the public key of');
  });
});
