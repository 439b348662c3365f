import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { readSettings, type Settings } from './settings.ts';
import { UsageError } from '../kit/usage-error.ts';

let root: string;
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'holdpoint-settings-')));
});
afterEach(() => rmSync(root, { recursive: true }));

const write = (path: string, text: string): string => {
  const file = join(root, path);
  mkdirSync(join(file, '..'), { recursive: true });
  writeFileSync(file, text);
  return file;
};

const readable = ({ natsUrl, seed, token }: Settings) => ({
  natsUrl,
  seed: typeof seed === 'function' ? new TextDecoder().decode(seed()).trim() : seed,
  token,
});
const read = (env: Record<string, string> = {}, directory = root) => readable(readSettings(env, directory));
const failure = (env: Record<string, string> = {}, directory = root): string => {
  try {
    readSettings(env, directory);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  throw new Error('nothing was wrong');
};

const startHere = (more: Readonly<Record<string, unknown>> = {}): string => {
  const natsSeedFile = write('.holdpoint/data/credentials/nats/operator.seed', 'SUSEED\n');
  const tokenFile = write('.holdpoint/data/credentials/operator.token', 'hpt_local\n');
  return write(
    '.holdpoint/data/running.json',
    JSON.stringify({ pid: 1, natsUrl: 'nats://127.0.0.1:4222', natsSeedFile, tokenFile, ...more }),
  );
};

describe('settings from the environment', () => {
  test('the environment gives address, seed and token', () => {
    const HOLDPOINT_NATS_SEED_FILE = write('seed', '  SUSEED\n');
    const HOLDPOINT_TOKEN_FILE = write('token', 'hpt_file\n');
    const env = { HOLDPOINT_NATS_URL: 'nats://a', HOLDPOINT_NATS_SEED_FILE, HOLDPOINT_TOKEN_FILE };
    expect(read(env)).toEqual({ natsUrl: 'nats://a', seed: 'SUSEED', token: 'hpt_file' });
    expect(read({ ...env, HOLDPOINT_TOKEN: 'hpt_given' })).toMatchObject({ token: 'hpt_given' });
  });

  test('an address from the environment is not combined with local secrets', () => {
    startHere();
    expect(read({ HOLDPOINT_NATS_URL: 'nats://elsewhere' })).toEqual({
      natsUrl: 'nats://elsewhere',
      seed: undefined,
      token: undefined,
    });
  });

  test.each([
    ['HOLDPOINT_NATS_SEED_FILE', 'gone', 'cannot be read'],
    ['HOLDPOINT_NATS_SEED_FILE', 'empty', 'holds no secret'],
    ['HOLDPOINT_TOKEN_FILE', 'gone', 'cannot be read'],
    ['HOLDPOINT_TOKEN_FILE', 'prose', 'holds no secret'],
  ])('%s with a file that is %s names the file', (name, file, problem) => {
    write('empty', '');
    write('prose', 'more than one word');
    expect(failure({ HOLDPOINT_NATS_URL: 'nats://a', [name]: join(root, file) })).toBe(
      `${name}: ${join(root, file)} ${problem}`,
    );
  });

  test('a token that would break its header is refused', () => {
    expect(failure({ HOLDPOINT_NATS_URL: 'nats://a', HOLDPOINT_TOKEN: 'a\r\nb' })).toBe(
      'HOLDPOINT_TOKEN: invalid token',
    );
  });
});

describe('settings from a local start', () => {
  const local = { natsUrl: 'nats://127.0.0.1:4222', seed: 'SUSEED', token: 'hpt_local' };

  test('a local start is found in this directory or one above', () => {
    startHere();
    const below = join(root, 'a/b');
    mkdirSync(below, { recursive: true });
    expect(read()).toEqual(local);
    expect(read({}, below)).toEqual(local);
    expect(read({ HOLDPOINT_TOKEN: 'hpt_mine' })).toEqual({ ...local, token: 'hpt_mine' });
  });

  test('without a local start the error tells how to start one', () => {
    expect(failure()).toBe('no Holdpoint runs here: start one with `npm start`, or set HOLDPOINT_NATS_URL');
  });

  test('a start in progress asks to try again', () => {
    write('.holdpoint/data/running.json', '{"pid":1}');
    expect(failure()).toBe('Holdpoint is still starting: try again in a moment');
  });

  test('a broken file is named', () => {
    const file = write('.holdpoint/data/running.json', '{"natsUrl":');
    expect(failure()).toBe(`${file}: invalid format`);
  });

  test.each(['natsSeedFile', 'tokenFile'])('a %s outside of the directory is refused', (name) => {
    const secret = write('elsewhere/id_ed25519', 'private');
    const file = startHere({ [name]: secret });
    expect(failure()).toBe(`${file}: ${name} ${secret} lies outside of ${join(root, '.holdpoint/data')}`);
    const link = join(root, '.holdpoint/data/link');
    symlinkSync(secret, link);
    expect(failure({}, dirOf(startHere({ [name]: link })))).toBe(
      `${file}: ${name} ${link} lies outside of ${join(root, '.holdpoint/data')}`,
    );
  });
});

describe('settings from a start elsewhere', () => {
  const local = { natsUrl: 'nats://127.0.0.1:4222', seed: 'SUSEED', token: 'hpt_local' };
  const elsewhere = () => {
    const directory = join(root, 'own/repository');
    mkdirSync(directory, { recursive: true });
    return directory;
  };
  /** The files of a start, and the environment of the client. */
  const pointAt = (target: string, mode = 0o600) => {
    chmodSync(target, 0o600);
    const pointer = write('home/.local/state/holdpoint/running', `${target}\n`);
    chmodSync(pointer, mode);
    return { HOME: join(root, 'home') };
  };
  const started = () => {
    const file = startHere();
    const away = join(root, 'clone');
    mkdirSync(away);
    renameSync(join(root, '.holdpoint'), join(away, '.holdpoint'));
    const moved = join(away, '.holdpoint/data/running.json');
    const text = readFileSync(moved, 'utf8').replaceAll(dirname(file), dirname(moved));
    writeFileSync(moved, text);
    chmodSync(moved, 0o600);
    return moved;
  };

  test('HOLDPOINT_RUNNING names a start', () => {
    expect(read({ HOLDPOINT_RUNNING: started() }, elsewhere())).toEqual(local);
    const gone = join(root, 'gone.json');
    expect(failure({ HOLDPOINT_RUNNING: gone })).toBe(`HOLDPOINT_RUNNING: ${gone} cannot be read`);
  });

  test("the user's last start is found through the home directory", () => {
    expect(read(pointAt(started()), elsewhere())).toEqual(local);
  });

  test('XDG_STATE_HOME replaces the home directory', () => {
    const target = started();
    chmodSync(write('state/holdpoint/running', target), 0o600);
    expect(read({ XDG_STATE_HOME: join(root, 'state'), HOME: '/nowhere' }, elsewhere())).toEqual(local);
  });

  test('a nearer start comes first', () => {
    const env = pointAt(started());
    startHere({ natsUrl: 'nats://near' });
    expect(read(env, elsewhere()).natsUrl).toBe('nats://near');
  });

  test('a stopped start is ignored', () => {
    const target = started();
    const env = pointAt(target);
    rmSync(target);
    expect(failure(env, elsewhere())).toMatch(/^no Holdpoint runs here/);
  });

  test('a pointer that other users can write is refused', () => {
    expect(failure(pointAt(started(), 0o644), elsewhere())).toContain(
      'is accessible to other users: set mode 0600',
    );
    const target = join(root, 'clone/.holdpoint/data/running.json');
    const env = pointAt(target);
    chmodSync(target, 0o666);
    expect(failure(env, elsewhere())).toContain('is accessible to other users: set mode 0600');
  });

  test('a pointer without an absolute path is refused', () => {
    const env = pointAt(started());
    writeFileSync(join(root, 'home/.local/state/holdpoint/running'), 'relative.json');
    expect(failure(env, elsewhere())).toContain('invalid format');
  });
});

const dirOf = (file: string): string => join(file, '../../..');
