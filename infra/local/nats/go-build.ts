import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from '../run.ts';

const BUILT_WITHIN_MS = 600_000;

/**
 * Builds a release of nats-server with Go and puts the program at `target`. Go checks the sources against its checksum
 * database.
 */
export const buildWithGo = async (version: string, target: string, signal?: AbortSignal): Promise<void> => {
  await mkdir(dirname(target), { recursive: true });
  const scratch = await mkdtemp(`${target}.`);
  try {
    const module = `github.com/nats-io/nats-server/v2@v${version}`;
    await run('env', [`GOBIN=${scratch}`, 'go', 'install', '-ldflags=-s -w', module], {
      cwd: scratch,
      timeoutMs: BUILT_WITHIN_MS,
      signal,
    });
    await rename(join(scratch, 'nats-server'), target);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};
