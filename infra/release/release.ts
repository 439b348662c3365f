import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { VERSION } from '@holdpoint/contracts/values/version';
import { root } from '../local/folders.ts';
import { messageOf, Problem } from '../local/problem.ts';
import { releaseNotes } from './notes.ts';
import { packInto, packPythonInto, sourceOfBuild, withoutPython } from './pack.ts';

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const outputOf = (command: string, args: readonly string[], cwd: string = root): string => {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 1 << 28,
  });
  if (error !== undefined) throw new Problem(`${command} cannot be run: ${error.message}`);
  if (status === 0) return stdout;
  const line = stderr.split('\n').find((text) => /error|fatal/i.test(text)) ?? stderr.split('\n')[0] ?? '';
  throw new Problem(`${command} ${args[0] ?? ''} failed: ${line.trim()}`);
};

const checkTag = (tag: string, clone: string): void => {
  if (outputOf('git', ['tag', '--list', tag], clone).trim() !== '')
    throw new Problem(`the tag ${tag} exists: raise the version, or delete the tag`);
};

/** Throws unless the tree is what the tag would name. */
export const checkTree = (tag: string, clone: string = root): void => {
  const changed = outputOf('git', ['status', '--porcelain'], clone).split('\n').filter(Boolean);
  if (changed.length > 0)
    throw new Problem(`${String(changed.length)} files differ from the last commit: commit them first`);
  checkTag(tag, clone);
};

const headOf = (clone: string): string => outputOf('git', ['rev-parse', '--short', 'HEAD'], clone).trim();

/** Tags the last commit with the text of a file, whose headings Git would take for comments. Returns the commit. */
export const tagRelease = (tag: string, notes: string, clone: string = root): string => {
  // Another maintainer may have made it during the tests.
  checkTag(tag, clone);
  outputOf('git', ['tag', '--annotate', '--cleanup=verbatim', '--file', notes, tag], clone);
  return headOf(clone);
};

/** All components of the packages, as `npm` resolves them for a user: CycloneDX with versions, hashes and licences. */
const writeBill = (tarballs: readonly string[], file: string): number => {
  const folder = mkdtempSync(join(tmpdir(), 'holdpoint-bill-'));
  try {
    const manifest = { name: 'holdpoint-release', version: VERSION, private: true };
    writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
    outputOf('npm', ['install', '--package-lock-only', '--no-audit', '--no-fund', ...tarballs], folder);
    const text = outputOf('npm', ['sbom', '--package-lock-only', '--sbom-format=cyclonedx'], folder);
    const { components } = JSON.parse(text) as { readonly components: readonly unknown[] };
    writeFileSync(file, text);
    return components.length;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
};

const sha256 = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

const runTests = (): void => {
  const { status } = spawnSync(process.execPath, [join(root, 'infra', 'test.ts'), 'all'], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Problem('npm run test:all has failed: a release needs it green');
};

type Options = {
  readonly dryRun: boolean;
  readonly tests: boolean;
  /** The folder of the release, which it replaces. */
  readonly dist: string;
};

const release = ({ dryRun, tests, dist }: Options): void => {
  const tag = `v${VERSION}`;
  const notes = releaseNotes(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), VERSION);
  try {
    checkTree(tag);
  } catch (error) {
    if (!dryRun) throw error;
    say(`would be refused: ${messageOf(error)}`);
  }
  if (tests) runTests();
  mkdirSync(dirname(dist), { recursive: true });
  const work = mkdtempSync(`${dist}.new-`);
  try {
    writeFileSync(join(work, 'release-notes.md'), notes);
    const count = writeBill(packInto(work), join(work, `holdpoint-${VERSION}.cdx.json`));
    say(`the packages have ${String(count)} components`);
    const python = packPythonInto(work);
    if ('reason' in python) say(withoutPython(python.reason));
    const files = readdirSync(work).toSorted();
    const sums = files.map((file) => `${sha256(join(work, file))}  ${file}\n`).join('');
    writeFileSync(join(work, 'SHA256SUMS'), sums);
    rmSync(dist, { recursive: true, force: true });
    renameSync(work, dist);
    for (const file of [...files, 'SHA256SUMS']) say(join(basename(dist), file));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  if (dryRun) say(`would tag ${headOf(root)} as ${tag}`);
  else say(`tagged ${tagRelease(tag, join(dist, 'release-notes.md'))} as ${tag}`);
  say(
    `next: git push origin ${tag}; npm publish dist/<each .tgz>, contracts first; twine upload dist/*.whl dist/*-${VERSION}.tar.gz`,
  );
  if (sourceOfBuild(process.env) === undefined)
    say(
      'these packages name no repository: npm takes them with provenance only from a build of GitHub or GitLab',
    );
};

if (import.meta.main)
  try {
    const { values } = parseArgs({
      options: {
        'dry-run': { type: 'boolean' },
        'skip-tests': { type: 'boolean' },
        out: { type: 'string', default: join(root, 'dist') },
      },
    });
    if (values['skip-tests'] === true && values['dry-run'] !== true)
      throw new Problem('--skip-tests needs --dry-run: a release needs its tests');
    release({
      dryRun: values['dry-run'] === true,
      tests: values['skip-tests'] !== true,
      dist: resolve(values.out),
    });
  } catch (error) {
    process.stderr.write(`release: ${messageOf(error)}\n`);
    process.exitCode = 1;
  }
