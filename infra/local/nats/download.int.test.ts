import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { downloadRelease } from './download.ts';
import { archiveName, natsRelease, releasePlatform } from './nats-release.ts';
import type { Release } from './nats-release.ts';
import { portOf } from '../ports.ts';
import { run } from '../run.ts';

const PLATFORM = 'linux-amd64';
const PROGRAM = '#!/bin/sh\necho "nats-server: v9.9.9"\n';

let dir = '';
let server: Server;
let release: Release;
let body: Buffer;
let answer: 'archive' | 'tampered' | 'missing' | 'silence' | 'half' | 'slow' = 'archive';
/** Called when half of a slow archive has left. */
let onHalf = (): void => undefined;

const makeArchive = async (): Promise<Buffer> => {
  const folder = archiveName({ ...natsRelease, version: '9.9.9' }, PLATFORM).replace('.tar.gz', '');
  await mkdir(join(dir, folder));
  await writeFile(join(dir, folder, 'nats-server'), PROGRAM);
  await chmod(join(dir, folder, 'nats-server'), 0o755);
  await run('tar', ['-czf', 'archive.tar.gz', folder], { cwd: dir, timeoutMs: 10_000 });
  return readFile(join(dir, 'archive.tar.gz'));
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'holdpoint-download-'));
  body = await makeArchive();
  server = createServer((request, response) => {
    if (answer === 'silence') return;
    if (answer === 'missing' || request.url !== `/${archiveName(release, PLATFORM)}`) {
      response.writeHead(404).end();
      return;
    }
    if (answer === 'half') {
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.subarray(0, body.length / 2), () => response.destroy());
      return;
    }
    if (answer === 'slow') {
      response.writeHead(200, { 'content-length': body.length });
      response.write(body.subarray(0, body.length / 2), () => onHalf());
      return;
    }
    const tampered = Buffer.from(body);
    tampered.writeUInt8(tampered.readUInt8(tampered.length - 20) ^ 1, tampered.length - 20);
    response.end(answer === 'archive' ? body : tampered);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const sha256 = createHash('sha256').update(body).digest('hex');
  const port = portOf(server);
  release = { version: '9.9.9', baseUrl: `http://127.0.0.1:${port}`, sha256: { [PLATFORM]: sha256 } };
});

afterAll(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await rm(dir, { recursive: true, force: true });
});

describe('the download of a release', () => {
  let cache = '';
  let target = '';
  beforeEach(async () => {
    answer = 'archive';
    cache = await mkdtemp(join(dir, 'cache-'));
    target = join(cache, 'nats-server');
  });

  test('gives a program that runs', async () => {
    await downloadRelease(release, PLATFORM, target);
    expect(await run(target, [], { timeoutMs: 5_000 })).toBe('nats-server: v9.9.9\n');
    expect((await stat(target)).mode & 0o111).not.toBe(0);
    expect(await readdir(cache)).toEqual(['nats-server']);
  });

  test('that was tampered with leaves nothing behind', async () => {
    answer = 'tampered';
    await expect(downloadRelease(release, PLATFORM, target)).rejects.toThrow(
      /has SHA-256 \w{64} instead of \w{64}: it was thrown away/,
    );
    expect(await readdir(cache)).toEqual([]);
  });

  test('that breaks off in the middle leaves nothing behind', async () => {
    answer = 'half';
    await expect(downloadRelease(release, PLATFORM, target)).rejects.toThrow(/nats-server-.*: terminated/);
    expect(await readdir(cache)).toEqual([]);
  });

  test('that is aborted ends before the server has sent the rest, and leaves nothing behind', async () => {
    answer = 'slow';
    const leave = new AbortController();
    onHalf = () => leave.abort(new Error('Ctrl-C'));
    await expect(downloadRelease(release, PLATFORM, target, { signal: leave.signal })).rejects.toThrow(
      /nats-server-.*: Ctrl-C/,
    );
    expect(await readdir(cache)).toEqual([]);
  });

  test('that the server does not have says so', async () => {
    answer = 'missing';
    await expect(downloadRelease(release, PLATFORM, target)).rejects.toThrow('HTTP 404');
  });

  test('gives up on a server that does not answer', async () => {
    answer = 'silence';
    await expect(downloadRelease(release, PLATFORM, target, { answerWithinMs: 200 })).rejects.toThrow(
      'no answer within 0.2 s',
    );
  });

  test('says why there is no connection', async () => {
    const nowhere = { ...release, baseUrl: 'http://127.0.0.1:1' };
    await expect(downloadRelease(nowhere, PLATFORM, target)).rejects.toThrow(/ECONNREFUSED|bad port/);
  });

  test('is not tried for a platform without a checksum', async () => {
    await expect(downloadRelease(release, 'plan9-amd64', target)).rejects.toThrow(
      'no checksum is pinned for plan9-amd64',
    );
  });
});

test('every pinned checksum is one', () => {
  for (const sha256 of Object.values(natsRelease.sha256)) expect(sha256).toMatch(/^[0-9a-f]{64}$/);
  expect(natsRelease.baseUrl).toContain(`/v${natsRelease.version}`);
  expect(natsRelease.sha256).toHaveProperty(releasePlatform('linux', 'x64'));
  expect(natsRelease.sha256).toHaveProperty(releasePlatform('darwin', 'arm64'));
});
