import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import type { Git } from '../../../adapters/git/git.ts';

/** A file to add or to remove. `path` is in git's own bytes. */
export type TreeEdit = {
  readonly path: string | Buffer;
  readonly file: { readonly mode: '100644' | '100755' | '120000'; readonly id: string } | undefined;
};

const lineOf = ({ path, file }: TreeEdit, gone: string): Buffer =>
  Buffer.concat([
    Buffer.from(file === undefined ? `0 ${gone}\t` : `${file.mode} ${file.id}\t`),
    Buffer.from(path),
    Buffer.from([0]),
  ]);

/** Edits a tree in a temporary index: the repository's index and files stay untouched. */
export const editTree = async (git: Git, tree: string, edits: readonly TreeEdit[]): Promise<string> => {
  if (edits.length === 0) return tree;
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-index-'));
  try {
    const env = { GIT_INDEX_FILE: join(folder, 'index') };
    await git.run(['read-tree', tree], { env });
    const stdin = Buffer.concat(edits.map((edit) => lineOf(edit, '0'.repeat(tree.length))));
    await git.run(['update-index', '-z', '--index-info'], { env, stdin });
    return await git.text(['write-tree'], { env });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};

export const writeBlob = (git: Git, content: string | Uint8Array): Promise<string> =>
  git.text(['hash-object', '-w', '--no-filters', '--stdin'], { stdin: content });

export const Identity = z.object({ name: z.string(), email: z.string() });
export type Identity = z.infer<typeof Identity>;

export type CommitFacts = {
  readonly tree: string;
  readonly parents: readonly string[];
  readonly message: string;
  readonly by: Identity;
  /** Epoch seconds. */
  readonly at: number;
};

/** Removes characters that a commit header cannot contain. */
const plain = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- they are what is taken out
  text.replaceAll(/[<>\u0000-\u001F\u007F]/g, '').trim() || 'Holdpoint';

/** Writes a deterministic commit: the same facts give the same id. */
export const writeCommit = (git: Git, { tree, parents, message, by, at }: CommitFacts): Promise<string> => {
  const who = `${plain(by.name)} <${plain(by.email)}> ${String(at)} +0000`;
  const head = [`tree ${tree}`, ...parents.map((id) => `parent ${id}`), `author ${who}`, `committer ${who}`];
  const text = message.replaceAll('\0', '\uFFFD').trimEnd();
  return git.text(['hash-object', '-t', 'commit', '-w', '--stdin'], {
    stdin: `${head.join('\n')}\n\n${text}\n`,
  });
};

/** The latest time of some commits, in epoch seconds. */
export const lastCommitTime = async (git: Git, commits: readonly string[]): Promise<number> => {
  const argv = [
    'log',
    '--no-walk',
    '--no-show-signature',
    '--format=%ct',
    '--end-of-options',
    ...commits,
    '--',
  ];
  return Math.max(...(await git.text(argv)).split('\n').map(Number));
};

/** The author for commits of this repository. */
export const identityOf = async (git: Git): Promise<Identity> => {
  const last = new Map((await git.config()).map(({ key, value }) => [key, value]));
  const value = (key: string): string | undefined => {
    const found = last.get(key)?.trim();
    return found === '' ? undefined : found;
  };
  return { name: value('user.name') ?? 'Holdpoint', email: value('user.email') ?? 'holdpoint@localhost' };
};
