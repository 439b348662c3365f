// Builds the page if it is missing or outdated. Plain JavaScript: the installation asks before anything else
// runs whether a build is needed. `node packages/console/build.mjs` builds with Node.js 24.
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const dist = join(here, 'dist');
const stampFile = join(dist, 'sources.sha256');
/** Inputs of the build: contracts are part of the page, and the lockfile names the libraries. */
const SOURCES = ['src', 'public', 'index.html', 'vite.config.ts', 'package.json', '../contracts/src'];

const filesBelow = (path) => {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesBelow(join(path, name)));
};

/** SHA-256 over all inputs. */
const hashOfSources = () => {
  const hash = createHash('sha256');
  for (const path of SOURCES.flatMap((source) => filesBelow(join(here, source)))) {
    if (/\.test\.tsx?$/.test(path)) continue;
    hash.update(`${relative(here, path)}\n`).update(readFileSync(path));
  }
  return hash.digest('hex');
};

/** Whether the build exists and matches the sources. */
export const isBuilt = () =>
  existsSync(stampFile) && readFileSync(stampFile, 'utf8').trim() === hashOfSources();

/** Builds in a separate directory, then replaces the served one. */
export const buildPage = async () => {
  const hash = hashOfSources();
  const draft = join(here, `dist.${String(process.pid)}`);
  const { build } = await import('vite');
  try {
    await build({
      configFile: join(here, 'vite.config.ts'),
      logLevel: 'warn',
      build: { outDir: draft, emptyOutDir: true },
    });
    writeFileSync(join(draft, 'sources.sha256'), `${hash}\n`);
    mkdirSync(dist, { recursive: true });
    const old = `${draft}.old`;
    renameSync(dist, old);
    renameSync(draft, dist);
    rmSync(old, { recursive: true, force: true });
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
};

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href && !isBuilt())
  await buildPage();
