import { spawnSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { root } from '../local/folders.ts';
import { collectFiles, compiled, WORKSPACE_SOURCES } from './package-files.ts';
import { OLDEST_NODE, PUBLIC_PACKAGES, type PublicPackage } from './packages.ts';

const BUNDLE = join(root, 'infra', 'release', 'bundle.ts');

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

const modulesOf = ({ entries, modules = [] }: PublicPackage): readonly string[] => [
  ...Object.values(entries).flatMap(sourcesOf),
  ...modules.flatMap(filesLike),
];

const programsOf = ({ commands = {}, programs = [] }: PublicPackage): readonly string[] => [
  ...Object.values(commands),
  ...programs.flatMap(filesLike),
];

const entriesOf = (each: PublicPackage): readonly string[] => [...modulesOf(each), ...programsOf(each)];

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

/** The repository that builds the packages, as the build service names it: npm compares it with the provenance. */
export const sourceOfBuild = (env: NodeJS.ProcessEnv): string | undefined => {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: repository, CI_PROJECT_URL: project } = env;
  const page = server && repository ? `${server}/${repository}` : project;
  return page && `git+${page}.git`;
};

const stage = (built: string, into: string, each: PublicPackage): void => {
  const { version, license } = readJson(join(root, 'package.json'));
  // Bundled libraries stay dependencies: the list of components names them with their versions.
  const { imported } = collectFiles(built, each, entriesOf(each));
  for (const [path, content] of collectFiles(built, each, modulesOf(each)).files) {
    const target = join(into, 'dist', path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, content);
  }
  const programs = programsOf(each).map((source) => compiled(source, '.js'));
  if (programs.length > 0) run(process.execPath, [BUNDLE, built, join(into, 'dist'), ...programs], root);
  for (const asset of each.assets ?? [])
    cpSync(join(root, asset), join(into, 'dist', asset), { recursive: true });
  cpSync(join(root, each.folder, 'README.md'), join(into, 'README.md'));
  cpSync(join(root, 'LICENSE'), join(into, 'LICENSE'));
  const dependencies = [...imported, ...Object.entries(each.needs ?? {})].map(
    ([name, folder]) =>
      [name, each.dependsOn?.includes(name) === true ? version : versionOf(folder, name)] as const,
  );
  const source = sourceOfBuild(process.env);
  const manifest = {
    name: each.name,
    version,
    description: each.description,
    license,
    ...(source !== undefined && { repository: { type: 'git', url: source, directory: each.folder } }),
    type: 'module',
    engines: { node: `>=${OLDEST_NODE.major}.${OLDEST_NODE.minor}` },
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

/**
 * Builds wheel and sdist of the Python package into `folder`, and returns their paths, or the reason why there are none: the build
 * needs Python with `venv`, and `hatchling` from a registry.
 */
export const packPythonInto = (
  folder: string,
  command = 'python3',
): { readonly files: readonly string[] } | { readonly reason: string } => {
  const work = mkdtempSync(join(tmpdir(), 'holdpoint-wheel-'));
  try {
    const source = join(work, 'python');
    cpSync(join(root, 'packages', 'python'), source, {
      recursive: true,
      filter: (path) => !/__pycache__|_cache$|\.venv|egg-info$|dist$/.test(path),
    });
    run(command, ['-m', 'venv', join(work, 'venv')], work);
    const python = join(work, 'venv', 'bin', 'python');
    run(python, ['-m', 'pip', 'install', '--quiet', '--retries=1', 'hatchling'], work);
    run(python, ['-m', 'hatchling', 'build', '-d', join(work, 'built')], source);
    const built = readdirSync(join(work, 'built')).toSorted();
    mkdirSync(folder, { recursive: true });
    for (const file of built) cpSync(join(work, 'built', file), join(folder, file));
    return { files: built.map((file) => join(folder, file)) };
  } catch (error) {
    const [reason = ''] = (error instanceof Error ? error.message : String(error)).split('\n');
    return { reason };
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
};

/** Why a build of everything has no Python package. */
export const withoutPython = (reason: string): string => `no Python package: ${reason}`;

if (import.meta.main) {
  const folder = process.argv[2] ?? join(root, 'dist');
  for (const tarball of packInto(folder)) console.log(tarball);
  const python = packPythonInto(folder);
  if ('reason' in python) console.error(withoutPython(python.reason));
  else for (const file of python.files) console.log(file);
}
