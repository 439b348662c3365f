import { createHash } from 'node:crypto';
import { createWriteStream, mkdirSync, rmSync } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ObjectStore } from '@holdpoint/runtime/store/object-store';
import type { Spool } from './spool.ts';

export type ReaderParts = {
  readonly spool: Pick<Spool, 'find'>;
  readonly objects: Pick<ObjectStore, 'read'>;
  /** Holds copies of artifacts that are read. Emptied here. */
  readonly folder: string;
};

/** Readers go through an artifact from start to end, so that a few copies are enough. */
const COPIES_MAX = 8;

const rangeOf = async (path: string, offset: number, limit: number): Promise<Buffer | undefined> => {
  const handle = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (handle === undefined) return undefined;
  try {
    const buffer = Buffer.alloc(limit);
    let length = 0;
    for (;;) {
      const { bytesRead } = await handle.read(buffer, length, limit - length, offset + length);
      length += bytesRead;
      if (bytesRead === 0 || length === limit) return buffer.subarray(0, length);
    }
  } finally {
    await handle.close();
  }
};

/** Reads ranges of artifacts from a copy whose digest was verified: a damaged artifact is never served in part. */
export const createReader = ({ spool, objects, folder }: ReaderParts) => {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  /** Least recently used first. */
  const copies = new Map<string, Promise<boolean>>();
  let count = 0;

  const fetch = async (sha256: string): Promise<boolean> => {
    const hash = createHash('sha256');
    count += 1;
    const path = join(folder, `${sha256}.${String(count)}.new`);
    const digesting = new Transform({
      transform: (piece: Buffer, _encoding, done) => {
        hash.update(piece);
        done(null, piece);
      },
    });
    const pieces = Readable.from(objects.read(sha256), { objectMode: true, highWaterMark: 1 });
    try {
      await pipeline(pieces, digesting, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
      if (hash.digest('hex') !== sha256) return false;
      await rename(path, join(folder, sha256));
      return true;
    } finally {
      await rm(path, { force: true });
    }
  };

  const copyOf = (sha256: string): Promise<boolean> => {
    const known = copies.get(sha256) ?? fetch(sha256);
    copies.delete(sha256);
    copies.set(sha256, known);
    const settled = (whole: boolean): void => {
      // Evicted while it was fetched.
      if (copies.get(sha256) !== known) return rmSync(join(folder, sha256), { force: true });
      // A missing artifact may be uploaded later.
      if (!whole) copies.delete(sha256);
    };
    void known.then(settled, () => settled(false));
    for (const oldest of [...copies.keys()].slice(0, -COPIES_MAX)) {
      copies.delete(oldest);
      rmSync(join(folder, oldest), { force: true });
    }
    return known;
  };

  return {
    /** Undefined when the artifact is missing or damaged. */
    read: async (sha256: string, offset: number, limit: number): Promise<Buffer | undefined> => {
      const path = spool.find(sha256);
      // The upload may be confirmed, and the file removed, at any moment.
      const here = path === undefined ? undefined : await rangeOf(path, offset, limit);
      if (here !== undefined) return here;
      for (let tries = 0; tries < 2; tries += 1) {
        if (!(await copyOf(sha256))) return undefined;
        const part = await rangeOf(join(folder, sha256), offset, limit);
        if (part !== undefined) return part;
        // Evicted in the meantime.
        copies.delete(sha256);
      }
      return undefined;
    },
  };
};

export type Reader = ReturnType<typeof createReader>;
