import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** A name that was given to a file, or taken away, is only so for good once its folder is on the disk as well. */
export const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Replaces a small file: a crash leaves the one before, or this one, whole. */
export const replaceFile = async (path: string, text: string): Promise<void> => {
  const handle = await open(`${path}.new`, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(`${path}.new`, path);
  await syncFolder(dirname(path));
};
