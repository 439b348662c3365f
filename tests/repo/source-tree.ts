import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { join, relative, sep } from 'node:path';
import { factsOf, type SourceFacts } from './source-facts.ts';

export const ROOT = fileURLToPath(new URL('../..', import.meta.url));

const SOURCE_DIRS = ['packages', 'services', 'examples', 'infra', 'tests'] as const;
const SKIPPED: readonly string[] = ['node_modules', '.holdpoint', 'coverage'];

const filesBelow = (dir: string): readonly string[] =>
  readdirSync(dir, { withFileTypes: true }).flatMap((entry) => {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) return SKIPPED.includes(entry.name) ? [] : filesBelow(path);
    return [path];
  });

/** Paths from the root of the repository, with forward slashes, of every file whose name ends so. */
export const filesEnding = (ending: string, dirs: readonly string[] = SOURCE_DIRS): readonly string[] =>
  dirs
    .flatMap((dir) => filesBelow(join(ROOT, dir)))
    .filter((path) => path.endsWith(ending))
    .map((path) => relative(ROOT, path).split(sep).join('/'));

export const readSource = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Every TypeScript file of the repository. */
export const readTree = (): readonly SourceFacts[] =>
  filesEnding('.ts').map((path) => factsOf(path, readSource(path)));
