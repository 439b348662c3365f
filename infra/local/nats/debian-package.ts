import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { run } from '../run.ts';

const UPDATE_WITHIN_MS = 120_000;
const FETCH_WITHIN_MS = 120_000;

/**
 * Fetches the distribution's nats-server and unpacks it to `target`. It is not installed: that would need root, and
 * would start a second server as a system service. apt checks the package's signature.
 */
export const fetchDebianPackage = async (target: string): Promise<void> => {
  await mkdir(dirname(target), { recursive: true });
  const scratch = await mkdtemp(`${target}.`);
  const apt = (args: readonly string[], timeoutMs: number) =>
    run('apt-get', ['-o', 'APT::Sandbox::User=root', '-o', 'Acquire::Retries=1', ...args], {
      cwd: scratch,
      timeoutMs,
    });
  // Lists of its own, so that it works without root and on images that ship without lists.
  const ownLists = ['-o', `Dir::State::lists=${scratch}/lists`, '-o', `Dir::Cache=${scratch}/cache`];
  try {
    try {
      await apt(['download', 'nats-server'], FETCH_WITHIN_MS);
    } catch {
      await mkdir(join(scratch, 'lists', 'partial'), { recursive: true });
      await mkdir(join(scratch, 'cache', 'archives', 'partial'), { recursive: true });
      await apt([...ownLists, 'update'], UPDATE_WITHIN_MS);
      await apt([...ownLists, 'download', 'nats-server'], FETCH_WITHIN_MS);
    }
    const archive = (await readdir(scratch)).find((name) => name.endsWith('.deb'));
    if (archive === undefined) throw new Error('apt-get download left no package');
    await run('dpkg-deb', ['-x', archive, 'unpacked'], { cwd: scratch, timeoutMs: 60_000 });
    await rename(join(scratch, 'unpacked', 'usr', 'sbin', 'nats-server'), target);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
};
