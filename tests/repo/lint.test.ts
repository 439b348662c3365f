import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ROOT } from './source-tree.ts';

/** Something that the linter has to find, at a place where it is wrong. */
type Fault = readonly [rule: string, path: string, source: string];

const FAULTS: readonly Fault[] = [
  ['typescript(no-floating-promises)', 'services/a/src/floating.ts', 'const f = async () => 1;\nf();\n'],
  [
    'typescript(no-misused-promises)',
    'services/a/src/misused.ts',
    'const f = async () => true;\nif (f()) f;\n',
  ],
  ['typescript(await-thenable)', 'services/a/src/thenable.ts', 'export const f = async () => await 1;\n'],
  ['typescript(no-explicit-any)', 'services/a/src/any.ts', 'export const f = (a: any) => String(a);\n'],
  [
    'typescript(no-unsafe-member-access)',
    'services/a/src/unsafe.ts',
    `export const f = (text: string): unknown => JSON.parse(text).a;\n`,
  ],
  [
    'typescript(no-non-null-assertion)',
    'services/a/src/bang.ts',
    'export const f = (a?: string) => a!.length;\n',
  ],
  [
    'typescript(consistent-type-imports)',
    'services/a/src/types.ts',
    `import { Stats } from 'node:fs';\nexport type S = Stats;\n`,
  ],
  [
    'typescript(switch-exhaustiveness-check)',
    'services/a/src/switch.ts',
    `export const f = (a: 'x' | 'y') => {\n  switch (a) {\n    case 'x':\n      return 1;\n  }\n  return 2;\n};\n`,
  ],
  ['eslint(eqeqeq)', 'services/a/src/equal.ts', 'export const f = (a: unknown) => a == 1;\n'],
  ['eslint(no-console)', 'services/a/src/console.ts', `console.log('x');\n`],
  ['import(no-default-export)', 'services/a/src/default.ts', 'export default 1;\n'],
  ['unicorn(filename-case)', 'services/a/src/fileName.ts', 'export const a = 1;\n'],
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-lint-'));
  for (const file of ['.oxlintrc.json', 'tsconfig.json']) copyFileSync(join(ROOT, file), join(folder, file));
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  for (const [, path, source] of FAULTS) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), source);
  }
});
afterAll(() => rmSync(folder, { recursive: true }));

const oxlint = join(ROOT, 'node_modules', '.bin', 'oxlint');

test('the linter finds what it is there for', () => {
  const { stdout, status } = spawnSync(oxlint, ['--format', 'unix'], { cwd: folder, encoding: 'utf8' });
  const missed = FAULTS.filter(
    ([rule, path]) => !stdout.split('\n').some((line) => line.startsWith(path) && line.includes(rule)),
  );
  expect({ missed, status }).toEqual({ missed: [], status: 1 });
});
