import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '@holdpoint/infra/local/folders';
import { z } from 'zod';

const run = promisify(execFile);

/** The last commit of 0.1.0. It was never published, so its packages are built from the history. */
export const LAST_RELEASE = { version: '0.1.0', commit: 'eca7d8a13bf280886a83a2398ed5f2efedd898cd' } as const;

/** Why the packages of the last release cannot be built; undefined if they can. */
export const obstacleToLastRelease = async (): Promise<string | undefined> => {
  try {
    await run('git', ['cat-file', '-e', `${LAST_RELEASE.commit}^{commit}`], { cwd: root });
    return undefined;
  } catch {
    return `commit ${LAST_RELEASE.commit} of ${LAST_RELEASE.version} is not in this clone: fetch the whole history`;
  }
};

const Manifest = z.looseObject({ dependencies: z.record(z.string(), z.string()).default({}) });

const librariesOf = (manifest: string): readonly string[] =>
  Object.keys(Manifest.parse(JSON.parse(readFileSync(manifest, 'utf8'))).dependencies);

/** A library that another package of this clone uses by now. */
const linkMoved = (name: string, link: string): void => {
  if (existsSync(link)) return;
  const [found] = globSync(`{infra,packages/*,services/*}/node_modules/${name}`, { cwd: root });
  if (found === undefined) return;
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(realpathSync(join(root, found)), link);
};

/** Builds the packages of the last release with the libraries of this clone. Returns their paths. */
export const packLastRelease = async (folder: string): Promise<readonly string[]> => {
  const sources = join(folder, 'sources');
  mkdirSync(sources, { recursive: true });
  await run('git', ['archive', '--output', join(folder, 'sources.tar'), LAST_RELEASE.commit], { cwd: root });
  await run('tar', ['-xf', join(folder, 'sources.tar'), '-C', sources]);
  symlinkSync(join(root, 'node_modules'), join(sources, 'node_modules'));
  // The links of pnpm are relative: they lead to the sources of that release and to the libraries of this clone.
  for (const manifest of globSync('{infra,packages/*,services/*}/package.json', { cwd: sources })) {
    const links = join(dirname(manifest), 'node_modules');
    cpSync(join(root, links), join(sources, links), { recursive: true, verbatimSymlinks: true });
    for (const name of librariesOf(join(sources, manifest))) linkMoved(name, join(sources, links, name));
  }
  cpSync(join(root, 'packages/console/dist'), join(sources, 'packages/console/dist'), { recursive: true });
  const tarballs = join(folder, 'tarballs');
  await run(process.execPath, [join(sources, 'infra/release/pack.ts'), tarballs], { cwd: sources });
  rmSync(sources, { recursive: true });
  return readdirSync(tarballs).map((name) => join(tarballs, name));
};
