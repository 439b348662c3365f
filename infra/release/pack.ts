import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { root } from '../local/folders.ts';
import { collectFiles, compiled, WORKSPACE_SOURCES } from './package-files.ts';
import { PUBLIC_PACKAGES, type PublicPackage } from './packages.ts';

const NODE = '>=22.18';

const run = (command: string, args: readonly string[], cwd: string): string => {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' });
  if (error !== undefined) throw error;
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')} ended with ${String(status)}\n${stdout}${stderr}`);
  return stdout;
};

const readJson = (path: string): Readonly<Record<string, unknown>> =>
  JSON.parse(readFileSync(path, 'utf8')) as Readonly<Record<string, unknown>>;

const filesLike = (pattern: string): readonly string[] =>
  globSync(pattern, { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .toSorted();

/** The sources of an entry: one file, or those that its pattern names. */
const sourcesOf = (source: string): readonly string[] =>
  source.includes('*') ? filesLike(source.replace('*', '**/*')) : [source];

const entriesOf = ({ entries, commands = {}, programs = [] }: PublicPackage): readonly string[] => [
  ...Object.values(entries).flatMap(sourcesOf),
  ...Object.values(commands),
  ...programs.flatMap(filesLike),
];

/** Compiles all packages at once: the imports of one workspace package reach the sources of the others. */
const compileInto = (folder: string): void => {
  const config = join(folder, 'tsconfig.json');
  const options = {
    extends: join(root, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      rootDir: root,
      outDir: join(folder, 'out'),
      declaration: true,
      sourceMap: true,
      inlineSources: true,
      rewriteRelativeImportExtensions: true,
      typeRoots: [join(root, 'node_modules/@types')],
      paths: Object.fromEntries(
        Object.entries(WORKSPACE_SOURCES).map(([name, sources]) => [
          `${name}/*`,
          [join(root, sources, '*.ts')],
        ]),
      ),
    },
    include: [],
    exclude: [],
    files: PUBLIC_PACKAGES.flatMap(entriesOf).map((path) => join(root, path)),
  };
  writeFileSync(config, JSON.stringify(options));
  run(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', config], root);
};

/** Subpath to compiled entry, as `exports` lists it. */
const exportsOf = ({ entries }: PublicPackage): Readonly<Record<string, unknown>> =>
  Object.fromEntries(
    Object.entries(entries).flatMap(([subpath, source]) =>
      sourcesOf(source).map((each) => {
        const [before = ''] = source.split('*');
        const inner = each.slice(before.length).replace(/\.ts$/, '');
        const path = (extension: '.js' | '.d.ts'): string => `./dist/${compiled(each, extension)}`;
        return [subpath.replace('*', inner), { types: path('.d.ts'), default: path('.js') }];
      }),
    ),
  );

const versionOf = (folder: string, dependency: string): string =>
  String(readJson(join(root, folder, 'node_modules', dependency, 'package.json'))['version']);

const stage = (built: string, into: string, each: PublicPackage): void => {
  const { version, license } = readJson(join(root, 'package.json'));
  const { files, imported } = collectFiles(built, each, entriesOf(each));
  for (const [path, content] of files) {
    const target = join(into, 'dist', path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
  }
  for (const asset of each.assets ?? [])
    cpSync(join(root, asset), join(into, 'dist', asset), { recursive: true });
  cpSync(join(root, each.folder, 'README.md'), join(into, 'README.md'));
  cpSync(join(root, 'LICENSE'), join(into, 'LICENSE'));
  const dependencies = [...imported, ...Object.entries(each.needs ?? {})].map(
    ([name, folder]) =>
      [name, each.dependsOn?.includes(name) === true ? version : versionOf(folder, name)] as const,
  );
  const manifest = {
    name: each.name,
    version,
    description: each.description,
    license,
    type: 'module',
    engines: { node: NODE },
    exports: { ...exportsOf(each), './package.json': './package.json' },
    ...(each.commands !== undefined && {
      bin: Object.fromEntries(
        Object.entries(each.commands).map(([name, source]) => [name, `dist/${compiled(source, '.js')}`]),
      ),
    }),
    files: ['dist'],
    dependencies: Object.fromEntries(dependencies.sort(([a], [b]) => (a < b ? -1 : 1))),
    publishConfig: { access: 'public', provenance: true },
  };
  writeFileSync(join(into, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
};

/** Builds the packages for users and leaves a tarball of each in `folder`. Returns their paths. */
export const packInto = (folder: string): readonly string[] => {
  mkdirSync(folder, { recursive: true });
  const data = join(root, '.holdpoint', 'data');
  mkdirSync(data, { recursive: true });
  const work = mkdtempSync(join(data, 'pack-'));
  try {
    compileInto(work);
    return PUBLIC_PACKAGES.map((each) => {
      const into = join(work, each.name);
      mkdirSync(into, { recursive: true });
      stage(join(work, 'out'), into, each);
      const [{ filename }] = JSON.parse(
        run('npm', ['pack', '--json', '--pack-destination', resolve(folder)], into),
      ) as [{ readonly filename: string }];
      return join(folder, filename);
    });
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

if (import.meta.main)
  for (const tarball of packInto(process.argv[2] ?? join(root, 'dist'))) console.log(tarball);
