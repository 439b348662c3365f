import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import type { PublicPackage } from './packages.ts';

/** The compiled files of one package, and the packages of others that they import. */
export type PackageFiles = {
  /** Path below the folder of compiled files to content, with imports that work inside of the package. */
  readonly files: ReadonlyMap<string, string>;
  /** Package name to the workspace folder whose installation has its version. */
  readonly imported: ReadonlyMap<string, string>;
};

/** Workspace package to the folder of its sources. */
export const WORKSPACE_SOURCES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['contracts', 'runtime', 'programs', 'workflows', 'sdk', 'cli'].map((name) => [
      `@holdpoint/${name}`,
      `packages/${name}/src`,
    ]),
  ),
  ...Object.fromEntries(
    ['orchestrator', 'approvals', 'executor', 'recovery'].map((name) => [
      `@holdpoint/${name}`,
      `services/${name}/src`,
    ]),
  ),
  '@holdpoint/infra': 'infra',
};
/** A `from` counts only in a statement at the start of a line: texts have the word too. */
const IMPORT =
  /(?<before>^(?:import|export)\b[^'"`;]*?\bfrom\s+|\bimport\s*\(\s*|^import\s+)(?<quote>['"])(?<path>[^'"\n]+)\k<quote>/gm;

const packageOf = (path: string): string =>
  path
    .split('/')
    .slice(0, path.startsWith('@') ? 2 : 1)
    .join('/');

/** The folder of the workspace package that a compiled file comes from. */
export const importerOf = (file: string): string =>
  file.startsWith('infra/') ? 'infra' : file.split('/').slice(0, 2).join('/');

/** `packages/sdk/src/index.ts` as the compiler writes it. */
export const compiled = (source: string, extension: '.js' | '.d.ts'): string =>
  source.replace(/\.ts$/, extension);

/** The compiled file of an import of a workspace package; undefined for any other package. */
export const workspaceFile = (path: string): string | undefined => {
  const source = sourceOf(path);
  return source && compiled(source, '.js');
};

/** The source of an import of a workspace package; undefined for any other package. */
const sourceOf = (path: string): string | undefined => {
  const name = packageOf(path);
  const folder = WORKSPACE_SOURCES[name];
  return folder === undefined ? undefined : `${folder}${path.slice(name.length)}.ts`;
};

/**
 * Follows the imports of the entries through the compiled files in `built`. Imports of workspace packages that are no
 * dependency become relative paths. Throws when an import leads nowhere.
 */
export const collectFiles = (
  built: string,
  { name, dependsOn = [] }: Pick<PublicPackage, 'name' | 'dependsOn'>,
  entries: readonly string[],
): PackageFiles => {
  const files = new Map<string, string>();
  const imported = new Map<string, string>();
  const waiting = entries.flatMap((entry) => [compiled(entry, '.js'), compiled(entry, '.d.ts')]);

  const follow = (from: string, path: string): string => {
    const extension = from.endsWith('.d.ts') ? '.d.ts' : '.js';
    const near = path.startsWith('.')
      ? posix.join(dirname(from), path).replace(/\.(js|ts)$/, '.ts')
      : undefined;
    const source = near ?? (dependsOn.includes(packageOf(path)) ? undefined : sourceOf(path));
    if (source === undefined) {
      if (!path.startsWith('node:')) imported.set(packageOf(path), importerOf(from));
      return path;
    }
    const target = compiled(source, extension);
    if (!existsSync(join(built, target)))
      throw new Error(`${name}: ${from} imports ${path}: ${target} is missing`);
    waiting.push(target);
    const way = relative(dirname(from), compiled(source, '.js'));
    return way.startsWith('.') ? way : `./${way}`;
  };

  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (files.has(file)) continue;
    const from = file;
    files.set(from, '');
    const text = readFileSync(join(built, from), 'utf8');
    files.set(
      from,
      text.replace(
        IMPORT,
        (_, before: string, quote: string, path: string) => `${before}${quote}${follow(from, path)}${quote}`,
      ),
    );
    if (from.endsWith('.js')) files.set(`${from}.map`, readFileSync(join(built, `${from}.map`), 'utf8'));
  }
  return { files, imported };
};
