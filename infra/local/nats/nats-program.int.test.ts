import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { findNats } from './nats-program.ts';
import type { NatsSearch } from './nats-program.ts';
import { natsRelease } from './nats-release.ts';
import { poll } from '../poll.ts';
import { createProgress, silent } from '../progress.ts';

let dir = '';
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-search-'));
});
afterEach(() => rm(dir, { recursive: true, force: true }));

const program = async (folder: string, name: string, version: string): Promise<string> => {
  await mkdir(join(dir, folder), { recursive: true });
  const path = join(dir, folder, name);
  await writeFile(path, `#!/bin/sh\necho "nats-server: v${version}"\n`);
  await chmod(path, 0o755);
  return path;
};

// On no known platform: nothing is pinned for it, and it has no apt-get.
const search = (more: Partial<NatsSearch> = {}): NatsSearch => ({
  path: join(dir, 'bin'),
  cacheDir: join(dir, 'cache'),
  platform: 'plan9-amd64',
  docker: false,
  go: false,
  ...more,
});

test('a server on PATH is used', async () => {
  const path = await program('bin', 'nats-server', '2.11.4');
  expect(
    await findNats(search({ path: `${join(dir, 'nothing')}:${join(dir, 'bin')}` }), silent),
  ).toMatchObject({
    kind: 'binary',
    path,
    version: { major: 2, minor: 11 },
  });
});

test('one that is too old is passed over for the one that was downloaded before', async () => {
  await program('bin', 'nats-server', '2.10.29');
  const path = await program('cache', `nats-server-v${natsRelease.version}-plan9-amd64`, natsRelease.version);
  expect(await findNats(search(), silent)).toMatchObject({ path });
});

test('the package that was fetched before is used before anything is fetched again', async () => {
  const path = await program('cache', 'nats-server-of-the-distribution', '2.12.1');
  expect(await findNats(search(), silent)).toMatchObject({ path, version: { major: 2, minor: 12 } });
});

test('a search that is ended tries no further way', async () => {
  await program('bin', 'docker', '0');
  await writeFile(join(dir, 'bin', 'docker'), `#!/bin/sh\ntouch ${dir}/asked\nexec sleep 600\n`);
  const leave = new AbortController();
  const lines: string[] = [];
  const path = process.env['PATH'] ?? '';
  process.env['PATH'] = `${join(dir, 'bin')}:${path}`;
  onTestFinished(() => void (process.env['PATH'] = path));
  const found = findNats(
    search({ docker: true, go: true, signal: leave.signal }),
    createProgress((line) => void lines.push(line)),
  );
  found.catch(() => undefined); // awaited below
  await poll(async () => (existsSync(join(dir, 'asked')) ? true : undefined), {
    timeoutMs: 60_000,
    what: 'the search asks Docker',
  });
  leave.abort(new Error('Ctrl-C'));
  await expect(found).rejects.toThrow('Ctrl-C');
  expect(lines).toEqual(['  nats-server by download: no checksum is pinned for plan9-amd64']);
});

test('without a NATS server the error lists how each way failed and the next step', async () => {
  const lines: string[] = [];
  const found = findNats(
    search(),
    createProgress((line) => void lines.push(line)),
  );
  await expect(found).rejects.toThrow(
    /^there is no nats-server: put nats-server \(2\.11 or later\) on PATH, start Docker, or set HOLDPOINT_NATS_URL to a server \(download: no checksum is pinned for plan9-amd64\)$/,
  );
  expect(lines).toEqual([
    '  nats-server by download: no checksum is pinned for plan9-amd64',
    '  nats-server by Docker: not wanted',
    '  nats-server by Go: not wanted',
    '  nats-server by apt-get: there is no apt-get on this system',
  ]);
});
