import { cp, mkdir, readdir, rm } from 'node:fs/promises';
import { join, relative } from 'node:path';

/** The messages of all streams of a server, without the positions of the consumers. */
export type MessageCopy = {
  /** While the server runs. */
  readonly take: () => Promise<void>;
  /** While the server is down: streams lose what came after the copy, and consumers keep their positions. */
  readonly putBack: () => Promise<void>;
};

/** The folders with the messages of streams, below the folder of a server. */
const messageFolders = async (folder: string): Promise<readonly string[]> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isDirectory() && entry.name === 'msgs')
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
};

/** `store` has the files of a server that runs as a process, `copy` is a folder for the copy. */
export const createMessageCopy = (store: string, copy: string): MessageCopy => ({
  take: async () => {
    await rm(copy, { recursive: true, force: true });
    for (const stream of await messageFolders(store)) {
      await mkdir(join(copy, stream), { recursive: true });
      await cp(join(store, stream), join(copy, stream), { recursive: true });
    }
  },
  putBack: async () => {
    for (const stream of await messageFolders(copy)) {
      await rm(join(store, stream), { recursive: true, force: true });
      await cp(join(copy, stream), join(store, stream), { recursive: true });
    }
  },
});
