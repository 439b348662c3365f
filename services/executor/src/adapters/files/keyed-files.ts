import { type AppendLine, createKeyedFile } from './keyed-file.ts';
import { createWorkspace } from './workspace.ts';

/** One writer a file, however many effects append to it at once; each lot of them has its path looked at anew. */
export const createFiles = (root: string): ((file: string) => Promise<AppendLine>) => {
  const workspace = createWorkspace(root);
  const writers = new Map<string, AppendLine>();
  const resolving = new Map<string, Promise<string>>();

  const resolve = (file: string): Promise<string> => {
    const path = workspace.resolve(file).finally(() => resolving.delete(file));
    resolving.set(file, path);
    return path;
  };

  return async (file) => {
    const path = await (resolving.get(file) ?? resolve(file));
    const writer = writers.get(path) ?? createKeyedFile(path);
    writers.set(path, writer);
    return writer;
  };
};
