import { mkdir, statfs } from 'node:fs/promises';
import { messageOf } from '@holdpoint/infra/local/problem';
import { run } from '@holdpoint/infra/local/run';
import type { Disk } from './deployment.ts';

const MOUNT_WITHIN_MS = 10_000;
/** A server may still write its last log lines. */
const ROOM_BYTES = 64 * 1_024;

export type Tmpfs = Disk & { readonly unmount: () => Promise<void> };

const mount = (...args: readonly string[]): Promise<string> =>
  run('mount', args, { timeoutMs: MOUNT_WITHIN_MS });

/** A filesystem in memory with an adjustable size: filling and freeing it is instant. */
const openTmpfs = (folder: string, sizeMib: number): Tmpfs => ({
  fill: async () => {
    const { bsize, blocks, bfree } = await statfs(folder);
    const used = (blocks - bfree) * bsize;
    await mount('-o', `remount,size=${String(used + ROOM_BYTES)}`, folder);
  },
  free: async () => void (await mount('-o', `remount,size=${String(sizeMib)}m`, folder)),
  // Open files keep it until they are closed.
  unmount: async () => void (await run('umount', ['-l', folder], { timeoutMs: MOUNT_WITHIN_MS })),
});

/** Mounts one, or returns the reason why it cannot. */
export const mountTmpfs = async (
  folder: string,
  sizeMib: number,
): Promise<Tmpfs | { readonly whyNot: string }> => {
  if (process.platform !== 'linux') return { whyNot: 'a disk of its own needs Linux' };
  if (process.getuid?.() !== 0) return { whyNot: 'a disk of its own needs root, to mount it' };
  try {
    await mkdir(folder, { recursive: true });
    await mount('-t', 'tmpfs', '-o', `size=${String(sizeMib)}m,mode=0755`, 'tmpfs', folder);
    return openTmpfs(folder, sizeMib);
  } catch (error) {
    return { whyNot: `a disk of its own could not be mounted: ${messageOf(error)}` };
  }
};
