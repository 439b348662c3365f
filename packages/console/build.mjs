// Builds the page when it is not there, or not of these sources. Plain JavaScript, so that what installs the workspace can ask
// whether that is needed before anything else runs; `node packages/console/build.mjs` builds it with Node.js 24.
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
/** Contracts are a part of the page, and the lockfile says which libraries are. */
const SOURCES = ['src', 'public', 'index.html', 'vite.config.ts', 'package.json', '../contracts/src'];

const filesBelow = (path) => {
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path)
    .sort()
    .flatMap((name) => filesBelow(join(path, name)));
};

/** SHA-256 over everything that the page is made of. */
const hashOfSources = () => {
  const hash = createHash('sha256');
  for (const path of SOURCES.flatMap((source) => filesBelow(join(here, source)))) {
    if (/\.test\.tsx?$/.test(path)) continue;
    hash.update(`${relative(here, path)}\n`).update(readFileSync(path));
  }
  return hash.digest('hex');
};

/** Whether the page is there, and of the sources as they are. */
export const isBuilt = () =>
  existsSync(stampFile) && readFileSync(stampFile, 'utf8').trim() === hashOfSources();

/** Builds the page beside the one that is served, and puts it in its place at the end. */
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
