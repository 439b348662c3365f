import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** The disk usage of a folder. */
export const bytesBelow = async (folder: string): Promise<number> => {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const sizes = await Promise.all(
    entries.map(async (entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return bytesBelow(path);
      // A running server creates and deletes files.
      return entry.isFile()
        ? await stat(path).then(
            ({ blocks }) => blocks * 512,
            () => 0,
          )
        : 0;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
};
