import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { root } from '../local/folders.ts';
import { importerOf, workspaceFile } from './package-files.ts';
import { OLDEST_NODE } from './packages.ts';

// Programs with their libraries in few files start in a third of the time, and need a fifth less memory, than hundreds of modules.

/** Where the bundled programs lie, beside the compiled files that they replace. */
const FOLDER = 'run';

const isBare = (path: string): boolean => !/^[./]|^node:/.test(path);

/** Modules find their files by their own place: each keeps the place of its compiled file. */
const withPlace = (code: string, place: string): string => {
  const url = (path: string): string => `new URL(${JSON.stringify(join('..', path))}, import.meta.url)`;
  const path = (inner: string): string => `decodeURIComponent(${url(inner)}.pathname)`;
  return code.replaceAll(/\bimport\.meta\.(main|dirname|url)\b/g, (_, name: string) => {
    if (name === 'main') return `(process.argv[1] === ${path(place)})`;
    return name === 'dirname' ? path(dirname(place)) : `${url(place)}.href`;
  });
};

const placed = (built: string): Plugin => ({
  name: 'placed',
  resolveId(path, importer) {
    if (importer?.startsWith(built) !== true || !isBare(path)) return undefined;
    const inside = workspaceFile(path);
    if (inside !== undefined) return join(built, inside);
    const folder = importerOf(relative(built, importer));
    return this.resolve(path, join(root, folder, 'package.json'), { skipSelf: true });
  },
  load(id) {
    if (!id.startsWith(built)) return undefined;
    const code = withPlace(readFileSync(id, 'utf8'), relative(built, id));
    return { code, map: readFileSync(`${id}.map`, 'utf8') };
  },
});

/** The folder of the installed package that a module belongs to. */
const packageFolderOf = (module: string): string | undefined =>
  /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module)?.[0];

/** The licences of the libraries inside, which ask for it. */
const noticesOf = (modules: readonly string[]): string => {
  const folders = new Set(modules.flatMap((module) => packageFolderOf(module) ?? []));
  const notices = [...folders].map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      readonly [field: string]: unknown;
    };
    const [file] = globSync('{LICENSE,LICENCE,license}*', { cwd: folder }).toSorted();
    const text = file === undefined ? String(license) : readFileSync(join(folder, file), 'utf8').trim();
    return `${String(name)} ${String(version)}\n\n${text}\n`;
  });
  return notices.toSorted().join(`\n${'-'.repeat(80)}\n\n`);
};

/** Starts a bundle. An old Node.js can read this file, and refuses it before it fails to load the bundle. */
export const starterOf = (bundled: string): string => {
  const { major, minor } = OLDEST_NODE;
  const oldest = `${String(major)}.${String(minor)}`;
  return `const [major, minor] = process.versions.node.split('.').map(Number);
if (major < ${String(major)} || (major === ${String(major)} && minor < ${String(minor)})) {
  const present = process.versions.node;
  process.stderr.write(\`error CLI_NODE_VERSION: this is Node.js \${present}: install Node.js ${oldest} or later\\n\`);
  process.exit(1);
}
await import('${bundled}');
`;
};

/**
 * Bundles programs among the compiled files in `built` into the folder `dist`. In place of each program it leaves a file that
 * starts the bundle.
 */
const bundle = async (built: string, dist: string, programs: readonly string[]): Promise<void> => {
  const nameOf = (program: string): string => program.replace(/\.js$/, '').replaceAll('/', '-');
  const build = await rolldown({
    input: Object.fromEntries(programs.map((program) => [nameOf(program), join(built, program)])),
    platform: 'node',
    // pg looks for it, and does without.
    external: ['pg-native'],
    plugins: [placed(built)],
    onLog: (level, log) => {
      if (level === 'warn' && log.code !== 'EVAL') process.stderr.write(`${log.message}\n`);
    },
  });
  const { output } = await build.write({
    dir: join(dist, FOLDER),
    format: 'esm',
    // The text of programs stays in memory. Names of classes and functions appear in messages.
    minify: true,
    keepNames: true,
    sourcemap: true,
    chunkFileNames: '[name]-[hash].js',
  });
  const modules = output.flatMap((each) => (each.type === 'chunk' ? each.moduleIds : []));
  writeFileSync(join(dist, FOLDER, 'LICENSES.txt'), noticesOf(modules));
  for (const program of programs) {
    const [first = ''] = readFileSync(join(built, program), 'utf8').split('\n');
    const file = join(dist, program);
    mkdirSync(dirname(file), { recursive: true });
    const way = relative(dirname(program), join(FOLDER, `${nameOf(program)}.js`));
    writeFileSync(file, `${first.startsWith('#!') ? `${first}\n` : ''}${starterOf(way)}`);
  }
};

if (import.meta.main) {
  const [built = '', dist = '', ...programs] = process.argv.slice(2);
  await bundle(built, dist, programs);
}
