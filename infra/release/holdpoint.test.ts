import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';

const PROGRAM = join(import.meta.dirname, 'holdpoint.ts');

/** The modes of a folder do not bind root. */
const user = ((): { readonly uid?: number; readonly gid?: number } | { readonly reason: string } => {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ['-u', '-g'].map((which) => {
    const { status, stdout } = spawnSync('id', [which, 'nobody'], { encoding: 'utf8' });
    return status === 0 ? Number(stdout) : undefined;
  });
  if (uid === undefined || gid === undefined) return { reason: 'this is root, and there is no user nobody' };
  const { status } = spawnSync(process.execPath, [PROGRAM, '--version'], { uid, gid, cwd: '/' });
  return status === 0 ? { uid, gid } : { reason: 'this is root, and the user nobody cannot read this clone' };
})();
const reason = 'reason' in user ? user.reason : undefined;
if (reason !== undefined)
  process.stderr.write(`holdpoint: no folder without the right to write is tried: ${reason}\n`);

/** A folder of the user, and one inside that only another user may write. */
const folders = (): { readonly own: string; readonly closed: string } => {
  const own = mkdtempSync(join(tmpdir(), 'holdpoint-closed-'));
  onTestFinished(() => {
    chmodSync(join(own, 'closed'), 0o755);
    rmSync(own, { recursive: true });
  });
  const closed = join(own, 'closed');
  mkdirSync(closed);
  chmodSync(own, 0o777);
  chmodSync(closed, 0o555);
  return { own, closed };
};

const holdpoint = (cwd: string, ...args: readonly string[]) => {
  const { PATH } = process.env;
  const env = { PATH, HOME: cwd, HOLDPOINT_DATA: join(cwd, '.holdpoint', 'data') };
  const who = 'reason' in user ? {} : user;
  const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], {
    ...who,
    cwd,
    env,
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};

test('holdpoint provision makes credentials once, and the configuration of a server with their public keys', () => {
  const { own } = folders();
  const made = holdpoint(own, 'provision', 'credentials', 'c');
  expect([made.status, made.stderr]).toEqual([0, '']);
  expect(made.stdout).toContain(`made ${join(own, 'c', 'grant.key.pem')}\n`);
  expect(holdpoint(own, 'provision', 'credentials', 'c').stdout).toBe(
    `${join(own, 'c')} is complete: nothing was changed\n`,
  );
  expect(holdpoint(own, 'provision', 'credentials', 'c', '--rotate', 'use').stderr).toBe(
    'error CLI_PROVISION: there is no second key: start with "add"\n',
  );
  const ports = ['--port', '4333', '--monitor-port', '8333'];
  const printed = holdpoint(own, 'provision', 'nats', '--credentials', 'c', ...ports).stdout;
  for (const text of [
    'listen: "0.0.0.0:4333"',
    'http: "0.0.0.0:8333"',
    readFileSync(join(own, 'c', 'nats', 'worker.pub'), 'utf8').trim(),
  ])
    expect(printed).toContain(text);
});

test.each([
  [
    ['nats', '--credentials', 'gone'],
    1,
    /^error CLI_PROVISION: gone\/nats\/\w+\.pub is missing: make it with [^\n]*\n$/,
  ],
  // As a service does.
  [['postgres'], 78, /^error CONFIG: HOLDPOINT_ADMIN_DATABASE_URL: .*HOLDPOINT_CREDENTIALS: [^\n]*\n$/],
] as const)('holdpoint provision %j is refused in one line, with exit code %i', (words, code, said) => {
  const { own } = folders();
  const { status, stdout, stderr } = holdpoint(own, 'provision', ...words);
  expect([status, stdout]).toEqual([code, '']);
  expect(stderr).toMatch(said);
  expect(readdirSync(own)).toEqual(['closed']);
});

describe.skipIf(reason !== undefined)('a folder that cannot be written', () => {
  test('holdpoint dev names it in one line, and leaves nothing', () => {
    const { closed } = folders();
    const { status, stderr } = holdpoint(closed, 'dev');
    expect(stderr).toBe(
      `holdpoint: cannot write to ${closed}/.holdpoint/data (EACCES): start in a folder of your own, or set HOLDPOINT_DATA\n`,
    );
    expect(status).toBe(1);
    expect(readdirSync(closed)).toEqual([]);
  });

  test.each(['config', 'jwt'])(
    'holdpoint nats export --as %s names it in one line, and leaves nothing',
    (form) => {
      const { own, closed } = folders();
      const out = join(closed, 'out');
      const refused = holdpoint(own, 'nats', 'export', '--as', form, '--out', out);
      expect(refused).toEqual({
        status: 1,
        stdout: '',
        stderr: `error CLI_NATS_EXPORT: cannot write to ${out} (EACCES): name another folder with --out\n`,
      });
      expect(readdirSync(own)).toEqual(['closed']);
      expect(readdirSync(closed)).toEqual([]);
    },
  );

  test('holdpoint nats export without a folder for the credentials leaves no export', () => {
    const { own, closed } = folders();
    const words = ['--as', 'config', '--credentials', join(closed, 'credentials'), '--out', 'export/nats'];
    const { status, stderr } = holdpoint(own, 'nats', 'export', ...words);
    expect(stderr).toMatch(/^error CLI_NATS_EXPORT: nothing exported: EACCES: [^\n]*closed\/credentials'\n$/);
    expect(status).toBe(1);
    expect(readdirSync(own)).toEqual(['closed']);
  });
});
