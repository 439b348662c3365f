import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, messageOf } from '../problem.ts';
import { archiveName } from './nats-release.ts';
import type { Release } from './nats-release.ts';
import { run } from '../run.ts';

/** Many machines have no network: a server that does not answer by then is not there. */
const ANSWER_WITHIN_MS = 5_000;
const COMPLETE_WITHIN_MS = 120_000;
const ARCHIVE_MAX_BYTES = 64 * 1024 * 1024;

/** `fetch failed` says nothing; why it failed is one level below. */
const reasonOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? (codeOf(error.cause) ?? error.cause.message) : undefined;
  return cause === undefined ? error.message : `${error.message} (${cause})`;
};

const readBounded = async (body: AsyncIterable<unknown>): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    if (!(chunk instanceof Uint8Array)) throw new TypeError('not bytes');
    size += chunk.byteLength;
    if (size > ARCHIVE_MAX_BYTES) throw new Error(`more than ${ARCHIVE_MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

type DownloadOptions = {
  readonly answerWithinMs?: number;
  /** Ends the download. */
  readonly signal?: AbortSignal | undefined;
};

const request = async (
  url: string,
  { answerWithinMs = ANSWER_WITHIN_MS, signal }: DownloadOptions,
): Promise<Buffer> => {
  const abort = new AbortController();
  const give = (reason: string) => () => abort.abort(new Error(reason));
  let timer = setTimeout(give(`no answer within ${answerWithinMs / 1_000} s`), answerWithinMs);
  try {
    const response = await fetch(url, {
      signal: signal === undefined ? abort.signal : AbortSignal.any([abort.signal, signal]),
    });
    if (!response.ok || response.body === null) throw new Error(`HTTP ${response.status}`);
    clearTimeout(timer);
    timer = setTimeout(give(`not complete within ${COMPLETE_WITHIN_MS / 1_000} s`), COMPLETE_WITHIN_MS);
    return await readBounded(response.body);
  } catch (error) {
    throw new Error(`${url}: ${reasonOf(error)}`, { cause: error });
  } finally {
    clearTimeout(timer);
  }
};

/**
 * Downloads a release of nats-server, checks its archive against the pinned SHA-256 and puts the program at `target`.
 * Nothing of an archive that does not match is unpacked, and `target` appears whole or not at all.
 */
export const downloadRelease = async (
  release: Release,
  platform: string,
  target: string,
  options: DownloadOptions = {},
): Promise<void> => {
  const expected = release.sha256[platform];
  if (expected === undefined) throw new Error(`no checksum is pinned for ${platform}`);
  const name = archiveName(release, platform);
  const archive = await request(`${release.baseUrl}/${name}`, options);
  const actual = createHash('sha256').update(archive).digest('hex');
  if (actual !== expected)
    throw new Error(`${name} has SHA-256 ${actual} instead of ${expected}: it was thrown away`);
  await mkdir(dirname(target), { recursive: true });
  const scratch = await mkdtemp(`${target}.`);
  try {
    await writeFile(join(scratch, name), archive);
    await run('tar', ['-xzf', name], { cwd: scratch, timeoutMs: 60_000, signal: options.signal });
    await rename(join(scratch, name.replace(/\.tar\.gz$/, ''), 'nats-server'), target);
  } catch (error) {
    throw new Error(`${name} could not be unpacked: ${messageOf(error)}`, { cause: error });
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};
