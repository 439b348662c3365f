import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CleanFailure } from '../../ports/capability.ts';
import { scratchFolder } from '../../../testing/scratch.ts';
import { readSecretTable } from './secret-table.ts';
import { createSecrets } from './secrets.ts';

let scratch: Awaited<ReturnType<typeof scratchFolder>>;
beforeEach(async () => {
  scratch = await scratchFolder();
});
afterEach(() => scratch.remove());

const SECRET = 'open-sesame+42/"x"';
const API = 'https://api.example';

const write = (name: string, text: string): string => {
  const path = join(scratch.path, name);
  writeFileSync(path, text);
  return path;
};
const tableOf = (secrets: object, env: NodeJS.ProcessEnv = {}) =>
  readSecretTable(write('secrets.json', JSON.stringify({ secrets })), env);
const startWith = (secrets: object, env?: NodeJS.ProcessEnv) => createSecrets(tableOf(secrets, env))();

const bodyOf = (fill: () => string) => {
  try {
    return fill();
  } catch (error) {
    return error instanceof CleanFailure ? error.body : error;
  }
};

describe('using a secret', () => {
  test('a secret is filled in where it may be used, and the rest stays', () => {
    const file = write('token', `${SECRET}\n`);
    const secrets = startWith(
      { TOKEN: { file, for: [API] }, KEY: { env: 'MY_KEY', for: [API] } },
      {
        MY_KEY: 'of-the-environment',
      },
    );
    expect(secrets.fill('Bearer ${secret:TOKEN} ${OTHER} ${secret:KEY}', API)).toBe(
      `Bearer ${SECRET} \${OTHER} of-the-environment`,
    );
  });

  test('a secret is read at each use, so that a replacement counts at once', () => {
    const file = write('token', 'the-first-token\n');
    const secrets = startWith({ TOKEN: { file, for: [API] } });
    expect(secrets.fill('${secret:TOKEN}', API)).toBe('the-first-token');
    write('token', 'the-second-token');
    expect(secrets.fill('${secret:TOKEN}', API)).toBe('the-second-token');
    expect(secrets.hideIn(['the-first-token', 'the-second-token'])).toEqual(['[hidden]', '[hidden]']);
  });

  test('a secret is refused for other uses, when it is missing, and when it cannot be hidden', () => {
    const secrets = startWith({
      TOKEN: { file: write('token', SECRET), for: [API] },
      NOWHERE: { file: write('nowhere', SECRET) },
      GONE: { file: join(scratch.path, 'gone'), for: [API] },
      SHORT: { file: write('short', 'sesame\n'), for: [API] },
    });
    const refused = (name: string, use = API) => bodyOf(() => secrets.fill(`\${secret:${name}}`, use));
    expect(refused('TOKEN', 'https://other.example')).toEqual({
      code: 'EXECUTOR_SECRET_NOT_ALLOWED',
      message: 'secret "TOKEN" is not for https://other.example',
    });
    expect(refused('NOWHERE')).toMatchObject({ code: 'EXECUTOR_SECRET_NOT_ALLOWED' });
    expect(refused('OTHER')).toMatchObject({ code: 'EXECUTOR_SECRET_UNKNOWN' });
    expect(refused('constructor')).toMatchObject({ code: 'EXECUTOR_SECRET_UNKNOWN' });
    expect(refused('GONE')).toEqual({
      code: 'EXECUTOR_SECRET_UNKNOWN',
      message: 'cannot read secret "GONE"',
    });
    expect(JSON.stringify(refused('SHORT'))).toMatch(/NOT_ALLOWED(?!.*sesame)/);
  });
});

describe('a filled secret', () => {
  const started = (text: string) => {
    const secrets = startWith({ TOKEN: { file: write('token', text), for: [API] } });
    secrets.fill('${secret:TOKEN}', API);
    return secrets;
  };

  test.each([
    ['as plain text', SECRET],
    ['in URL encoding', encodeURIComponent(SECRET)],
    ['in form encoding', new URLSearchParams({ a: SECRET }).toString()],
    ['in JSON', JSON.stringify({ a: SECRET })],
    ['in base64', Buffer.from(SECRET).toString('base64')],
    ['in base64 for URLs', Buffer.from(SECRET).toString('base64url')],
    ['in base64 behind one letter', Buffer.from(`a${SECRET}`).toString('base64')],
    ['in base64 between a name and more', Buffer.from(`ada:${SECRET};more`).toString('base64')],
    ['in base64 behind two letters', Buffer.from(`ab${SECRET}`).toString('base64')],
  ])('a filled secret is hidden %s', (_, text) => {
    const hidden = started(SECRET).hideIn({ text }).text;
    expect(hidden).toContain('[hidden]');
    // Letters at the ends of base64 may depend on their neighbours; they reveal less than a character.
    expect(hidden.replace('[hidden]', '').length).toBeLessThanOrEqual(
      Math.max(12, text.length - SECRET.length),
    );
    for (const part of [SECRET, encodeURIComponent(SECRET), Buffer.from(SECRET).toString('base64')])
      expect(hidden).not.toContain(part);
  });

  test('a filled secret is hidden line by line, in names and in nested values', () => {
    const key = '-----BEGIN KEY-----\nabcdefghijklmnop\nqrstuvwxyz012345\nshort\n-----END KEY-----';
    const { hideIn, hideListed } = started(key);
    expect(hideListed('1: abcdefghijklmnop')).toBe('1: [hidden]');
    expect(hideIn({ a: [{ qrstuvwxyz012345: 'short' }], b: 3, c: null })).toEqual({
      a: [{ '[hidden]': 'short' }],
      b: 3,
      c: null,
    });
  });

  test('a secret of the table is hidden in every start, also when no start has used it', () => {
    const file = write('token', SECRET);
    let now = 0;
    const secrets = createSecrets(tableOf({ TOKEN: { file, for: [API] } }), [], () => now);
    expect(secrets().hideIn(SECRET)).toBe('[hidden]');
    write('token', 'its-replacement');
    now += 60_000;
    expect(secrets().hideIn([SECRET, 'its-replacement'])).toEqual(['[hidden]', '[hidden]']);
  });

  test('filled and own secrets are hidden, but short words stay in values', () => {
    const own = ['postgres-password-of-the-executor', 'holdpoint'];
    const { hideIn } = createSecrets(new Map(), own)();
    expect(hideIn(`postgres-password-of-the-executor in .holdpoint/worktrees`)).toBe(
      '[hidden] in .holdpoint/worktrees',
    );
  });
});

describe('the table of secrets', () => {
  test.each([
    ['invalid JSON', 'sesame: open', 'the file is not JSON'],
    ['a secret itself', '{"secrets": {"A": "sesame"}}', 'at secrets.A'],
    ['a path that is not absolute', '{"secrets": {"A": {"file": "sesame"}}}', 'at secrets.A'],
    ['both sources', '{"secrets": {"A": {"file": "/sesame", "env": "SESAME"}}}', 'at secrets.A'],
    ['an invalid name', '{"secrets": {"a b": {"env": "SESAME"}}}', 'at secrets.a b'],
    ['an unset variable', '{"secrets": {"A": {"env": "SESAME"}}}', 'needs the variable SESAME'],
  ])('a table with %s ends the start, and the error shows names only', (_, text, problem) => {
    const read = () => readSecretTable(write('secrets.json', text), {});
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(new RegExp(problem));
    expect(read).toThrow(/^(?!.*sesame)/);
  });

  test('an unreadable table ends the start; without a table there are no secrets', () => {
    expect(() => readSecretTable(join(scratch.path, 'gone'), {})).toThrow(/HOLDPOINT_SECRETS_FILE/);
    expect(readSecretTable(undefined, {}).size).toBe(0);
    const path = write('secrets.json', '{"secrets": {}}');
    chmodSync(path, 0o400);
    expect(readSecretTable(path, {}).size).toBe(0);
  });
});
