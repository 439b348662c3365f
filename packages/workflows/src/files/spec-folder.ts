import { type Dirent, lstatSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Problem } from '../problems/problem.ts';
import { byBytes } from './byte-order.ts';
import { confine } from './confine.ts';
import { fileProblem, systemCode, WorkflowFileError } from './file-error.ts';

/** A specification; each one becomes a run. */
export type Spec = {
  /** Relative to the repository. */
  readonly file: string;
  readonly slug: string;
  readonly branch: string;
};

export type Specs = { readonly specs: readonly Spec[]; readonly problems: readonly Problem[] };

/** The most runs that one command may start. */
const SPECS_MAX = 1_000;
const DEPTH_MAX = 32;
const SLUG_MAX = 32;

const problem = (code: string, file: string, found: string, expected: string): Problem => ({
  code,
  severity: 'error',
  path: '',
  found,
  expected,
  file,
});

const noFile = (path: string): Problem =>
  problem('WORKFLOW_NOT_A_FILE', path, 'a pipe, a socket or a device', 'a regular file');

const tooMany = (path: string): Problem =>
  problem(
    'WORKFLOW_SPEC_TOO_MANY',
    path,
    'more files',
    `at most ${String(SPECS_MAX)} files in folders ${String(DEPTH_MAX)} deep`,
  );

const linkProblem = (path: string): Problem =>
  problem('WORKFLOW_SPEC_LINK', path, 'a symbolic link', 'files and folders only');

/** `api/Auth v2.md` becomes `api-auth-v2`. */
const slugOf = (path: string): string =>
  path
    .replace(/\.md$/, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
    .slice(0, SLUG_MAX)
    .replace(/-$/, '');

const read = (folder: string): readonly Dirent[] => {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (cause) {
    throw new WorkflowFileError('WORKFLOW_FILE_UNREADABLE', folder, systemCode(cause) ?? 'an error', {
      cause,
    });
  }
};

/** A specification file or a problem at this path. */
type FolderEntry = { readonly path: string; readonly wrong?: Problem };

function* walk(root: string, folder: string, depth: number): Generator<FolderEntry> {
  if (depth > DEPTH_MAX) {
    yield { path: folder, wrong: tooMany(folder) };
    return;
  }
  for (const entry of read(join(root, folder))) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.isSymbolicLink()) yield { path, wrong: linkProblem(path) };
    else if (entry.isDirectory()) {
      if (entry.name !== '.git') yield* walk(root, path, depth + 1);
    } else if (entry.name.endsWith('.md')) yield entry.isFile() ? { path } : { path, wrong: noFile(path) };
  }
}

/** Stops one entry after the limit: the folder may be huge. */
const entriesOf = (root: string, folder: string): readonly FolderEntry[] => {
  const found: FolderEntry[] = [];
  for (const one of walk(root, folder, 0)) {
    if (found.length === SPECS_MAX) return [...found, { path: folder, wrong: tooMany(folder) }];
    found.push(one);
  }
  return found;
};

const specsIn = (root: string, folder: string): Specs => {
  const found = entriesOf(root, folder);
  const problems = found.flatMap(({ wrong }) => (wrong === undefined ? [] : [wrong]));
  const prefix = folder === '' ? 0 : folder.length + 1;
  const specs = found
    .filter(({ wrong }) => wrong === undefined)
    .map(({ path }) => path)
    .sort(byBytes)
    .map((file): Spec => {
      const slug = slugOf(file.slice(prefix));
      return { file, slug, branch: `draft/${slug}` };
    });
  return { specs, problems: [...problems, ...slugProblems(specs)] };
};

/** Two files with the same slug would share a branch; a file without a slug has no branch. */
const slugProblems = (specs: readonly Spec[]): readonly Problem[] =>
  [...Map.groupBy(specs, ({ slug }) => slug)].flatMap(([slug, [first, ...others]]) => {
    const nameless =
      slug === '' && first !== undefined
        ? [problem('WORKFLOW_SPEC_SLUG', first.file, 'no letters or digits', 'a name with letters or digits')]
        : [];
    const same = others.map(({ file }) =>
      problem('WORKFLOW_SPEC_COLLISION', file, `the slug ${slug} of ${first?.file ?? ''}`, 'a unique slug'),
    );
    return [...nameless, ...same];
  });

const refuse = (wrong: Problem): Specs => ({ specs: [], problems: [wrong] });

const noFolder = (dir: string, found: string): Specs =>
  refuse(problem('WORKFLOW_SPEC_FOLDER', dir, found, 'a folder of .md files'));

const list = (root: string, dir: string): Specs => {
  const target = confine(root, dir);
  if (target === undefined) return noFolder(dir, 'no such folder');
  const stats = lstatSync(resolve(root, dir));
  if (stats.isSymbolicLink()) return refuse(linkProblem(dir));
  if (!stats.isDirectory()) return noFolder(dir, 'no folder');
  const found = specsIn(root, target.file);
  return found.specs.length === 0 && found.problems.length === 0
    ? refuse(problem('WORKFLOW_SPEC_NONE', dir, 'no .md file', 'at least one'))
    : found;
};

/** Lists the specifications of a folder in byte order. With any problem, none of them may run. */
export const listSpecs = (root: string, dir: string): Specs => {
  if (dir.trim() === '') return noFolder(dir, 'an empty name');
  try {
    return list(root, dir);
  } catch (error) {
    if (!(error instanceof WorkflowFileError)) throw error;
    return refuse(fileProblem(error));
  }
};
