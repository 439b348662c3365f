import { randomBytes } from 'node:crypto';
import { chmod, link, mkdir, readFile, rm, writeFile } from 'node:fs/promises';

export const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

const isPresent = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'EEXIST';

/** Creates a folder that only its owner can enter, with any umask. */
export const privateFolder = async (path: string): Promise<void> => {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chmod(path, 0o700);
};

export const readIfPresent = async (path: string): Promise<string | undefined> => {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
};

export type Kept = { readonly text: string; readonly created: boolean };

/**
 * What lies at `path`, made first if nothing lies there. The text appears whole or not at all (a crash leaves no
 * half a key), and of two who make it at once both get the first one's.
 */
export const keep = async (path: string, make: () => string): Promise<Kept> => {
  const present = await readIfPresent(path);
  if (present !== undefined) return { text: present, created: false };
  const text = make();
  const draft = `${path}.${randomBytes(6).toString('hex')}`;
  try {
    await writeFile(draft, text, { mode: 0o600, flag: 'wx' });
    await link(draft, path);
    return { text, created: true };
  } catch (error) {
    if (!isPresent(error)) throw error;
    return { text: await readFile(path, 'utf8'), created: false };
  } finally {
    await rm(draft, { force: true });
  }
};
