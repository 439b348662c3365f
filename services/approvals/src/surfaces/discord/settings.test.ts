import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError, readEnv } from '@holdpoint/runtime/service/config';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DiscordEnv, readDiscord } from './settings.ts';

const SECRET = 'MTk4.Cl2FMQ.secret';
const x = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' }).x ?? '';
const all = {
  HOLDPOINT_DISCORD_TOKEN_FILE: '',
  HOLDPOINT_DISCORD_CHANNEL: '123456789012345678',
  HOLDPOINT_DISCORD_PUBLIC_KEY: Buffer.from(x, 'base64url').toString('hex'),
};
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdpoint-discord-'));
  all.HOLDPOINT_DISCORD_TOKEN_FILE = join(folder, 'token');
  await writeFile(all.HOLDPOINT_DISCORD_TOKEN_FILE, `${SECRET}\n`);
});
afterAll(() => rm(folder, { recursive: true }));

const read = (env: Readonly<Record<string, string>>) => readDiscord(readEnv(DiscordEnv, env));

const problemOf = (env: Readonly<Record<string, string>>): string => {
  try {
    read(env);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return String(error);
  }
  throw new Error('it was taken');
};

describe('the Discord surface', () => {
  test('Discord is on when all settings are set', () => {
    expect(read(all)).toMatchObject({
      token: SECRET,
      channel: '123456789012345678',
      api: 'https://discord.com/api/v10',
    });
    expect(read({ ...all, HOLDPOINT_TEST_DISCORD_API: 'http://127.0.0.1:1/api//' })?.api).toBe(
      'http://127.0.0.1:1/api',
    );
  });

  test('Discord is off when no setting is set', () => {
    expect(read({})).toBeUndefined();
    expect(read(Object.fromEntries(Object.keys(all).map((name) => [name, ''])))).toBeUndefined();
    expect(read({ HOLDPOINT_TEST_DISCORD_API: 'http://127.0.0.1:1' })).toBeUndefined();
  });

  test.each([
    'HOLDPOINT_DISCORD_TOKEN_FILE',
    'HOLDPOINT_DISCORD_CHANNEL',
    'HOLDPOINT_DISCORD_PUBLIC_KEY',
  ] as const)('Discord settings without %s are refused with the missing names', (name) => {
    const { [name]: _, ...others } = all;
    expect(problemOf(others)).toContain(`${name}: missing`);
    expect(problemOf({ [name]: all[name] })).toContain('missing');
  });

  test.each([
    ['HOLDPOINT_DISCORD_CHANNEL', 'general'],
    ['HOLDPOINT_DISCORD_PUBLIC_KEY', 'f00'],
    ['HOLDPOINT_TEST_DISCORD_API', 'file:///etc/passwd'],
    ['HOLDPOINT_TEST_DISCORD_API', 'http://discord.example/api'],
    ['HOLDPOINT_TEST_DISCORD_API', 'https://discord.example/api?x=1'],
    ['HOLDPOINT_DISCORD_TOKEN_FILE', '/nowhere/token'],
  ])('an invalid %s is refused without its value', (name, value) => {
    const problem = problemOf({ ...all, [name]: value });
    expect(problem).toContain(name);
    expect(problem).not.toContain(value);
  });

  test.each([' ', 'two words', 'line\nbreak', 'caf\u00e9'])(
    'the token %j is refused without its value',
    async (token) => {
      const path = join(folder, 'bad');
      await writeFile(path, token);
      const problem = problemOf({ ...all, HOLDPOINT_DISCORD_TOKEN_FILE: path });
      expect(problem).toContain('HOLDPOINT_DISCORD_TOKEN_FILE: the file contains no bot token');
      expect(problem.replace('HOLDPOINT_DISCORD_TOKEN_FILE: the file contains no bot token', '')).toBe(
        'ConfigError: ',
      );
    },
  );
});
