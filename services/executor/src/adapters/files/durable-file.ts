import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Renames and removals are durable only once their folder is synced. */
export const syncFolder = async (folder: string): Promise<void> => {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
};

/** Replaces a small file atomically: after a crash it has the old or the new content. */
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
