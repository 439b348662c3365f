import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A temporary folder for one test, with a repository inside. */
export type TemporaryRepository = {
  /** The folder above the repository. */
  readonly outside: string;
  readonly root: string;
  /** Writes a file by its path in the repository. */
  readonly write: (file: string, text: string) => string;
  readonly [Symbol.dispose]: () => void;
};

export const temporaryRepository = (): TemporaryRepository => {
  const outside = realpathSync(mkdtempSync(join(tmpdir(), 'hp-workflows-')));
  const root = join(outside, 'repository');
  mkdirSync(join(root, '.git'), { recursive: true });
  return {
    outside,
    root,
    write: (file, text) => {
      const path = join(root, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
      return path;
    },
    [Symbol.dispose]: () => rmSync(outside, { recursive: true, force: true }),
  };
};
