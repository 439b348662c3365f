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
  seed: seed && new TextDecoder().decode(seed),
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

describe('from the environment', () => {
  test('address, seed and token', () => {
    const HOLDPOINT_NATS_SEED_FILE = write('seed', '  SUSEED\n');
    const HOLDPOINT_TOKEN_FILE = write('token', 'hpt_file\n');
    const env = { HOLDPOINT_NATS_URL: 'nats://a', HOLDPOINT_NATS_SEED_FILE, HOLDPOINT_TOKEN_FILE };
    expect(read(env)).toEqual({ natsUrl: 'nats://a', seed: 'SUSEED', token: 'hpt_file' });
    expect(read({ ...env, HOLDPOINT_TOKEN: 'hpt_given' })).toMatchObject({ token: 'hpt_given' });
  });

  test('an address alone takes no secret of a local start along', () => {
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
  ])('%s that names a file which is %s is named', (name, file, problem) => {
    write('empty', '\n');
    write('prose', 'more than one word');
    expect(failure({ HOLDPOINT_NATS_URL: 'nats://a', [name]: join(root, file) })).toBe(
      `${name}: ${join(root, file)} ${problem}`,
    );
  });

  test('a token that would break its header is refused', () => {
    expect(failure({ HOLDPOINT_NATS_URL: 'nats://a', HOLDPOINT_TOKEN: 'a\r\nb' })).toBe(
      'HOLDPOINT_TOKEN: not a token',
    );
  });
});

describe('from a local start', () => {
  const local = { natsUrl: 'nats://127.0.0.1:4222', seed: 'SUSEED', token: 'hpt_local' };

  test('in this directory or one above', () => {
    startHere();
    const below = join(root, 'a/b');
    mkdirSync(below, { recursive: true });
    expect(read()).toEqual(local);
    expect(read({}, below)).toEqual(local);
    expect(read({ HOLDPOINT_TOKEN: 'hpt_mine' })).toEqual({ ...local, token: 'hpt_mine' });
  });

  test('that is nowhere says what to do', () => {
    expect(failure()).toBe('no Holdpoint runs here: start one with `npm start`, or set HOLDPOINT_NATS_URL');
  });

  test('that is not ready says so', () => {
    write('.holdpoint/data/running.json', '{"pid":1}');
    expect(failure()).toBe('Holdpoint is still starting here: try again in a moment');
  });

  test('whose file is broken names the file', () => {
    const file = write('.holdpoint/data/running.json', '{"natsUrl":');
    expect(failure()).toBe(`${file} is not what a start writes`);
  });

  test.each(['natsSeedFile', 'tokenFile'])('whose %s lies elsewhere is not followed', (name) => {
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

describe('from elsewhere', () => {
  const local = { natsUrl: 'nats://127.0.0.1:4222', seed: 'SUSEED', token: 'hpt_local' };
  const elsewhere = () => {
    const directory = join(root, 'own/repository');
    mkdirSync(directory, { recursive: true });
    return directory;
  };
  /** What a start leaves behind, and how `HOME` looks to whoever asks. */
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

  test('the start that the environment names is found', () => {
    expect(read({ HOLDPOINT_RUNNING: started() }, elsewhere())).toEqual(local);
    const gone = join(root, 'gone.json');
    expect(failure({ HOLDPOINT_RUNNING: gone })).toBe(`HOLDPOINT_RUNNING: ${gone} cannot be read`);
  });

  test('the start that left word in the home of the user is found', () => {
    expect(read(pointAt(started()), elsewhere())).toEqual(local);
  });

  test('the word may lie where XDG_STATE_HOME says', () => {
    const target = started();
    chmodSync(write('state/holdpoint/running', target), 0o600);
    expect(read({ XDG_STATE_HOME: join(root, 'state'), HOME: '/nowhere' }, elsewhere())).toEqual(local);
  });

  test('a nearer start comes first', () => {
    const env = pointAt(started());
    startHere({ natsUrl: 'nats://near' });
    expect(read(env, elsewhere()).natsUrl).toBe('nats://near');
  });

  test('a start that is over is none', () => {
    const target = started();
    const env = pointAt(target);
    rmSync(target);
    expect(failure(env, elsewhere())).toMatch(/^no Holdpoint runs here/);
  });

  test('word that others could have left is not believed', () => {
    expect(failure(pointAt(started(), 0o644), elsewhere())).toContain('expected your own, with mode 0600');
    const target = join(root, 'clone/.holdpoint/data/running.json');
    const env = pointAt(target);
    chmodSync(target, 0o666);
    expect(failure(env, elsewhere())).toContain('expected your own, with mode 0600');
  });

  test('word that is no path is not followed', () => {
    const env = pointAt(started());
    writeFileSync(join(root, 'home/.local/state/holdpoint/running'), 'relative.json');
    expect(failure(env, elsewhere())).toContain('is not what a start writes');
  });
});

const dirOf = (file: string): string => join(file, '../../..');
