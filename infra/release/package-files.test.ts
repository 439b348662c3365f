import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { collectFiles } from './package-files.ts';

const builtOf = (files: Readonly<Record<string, string>>): string => {
  const folder = mkdtempSync(join(tmpdir(), 'package-files-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  return folder;
};

const sdk = { name: '@holdpoint/sdk', dependsOn: ['@holdpoint/contracts'] };
const entries = ['packages/sdk/src/index.ts'];

test('a package has what its entries import, with the workspace packages inside', () => {
  const built = builtOf({
    'packages/sdk/src/index.js':
      "import { z } from 'zod';\nimport { a } from '@holdpoint/runtime/engine/a';\n",
    'packages/sdk/src/index.js.map': '{}',
    'packages/sdk/src/index.d.ts':
      "import type { A } from '@holdpoint/runtime/engine/a';\nexport type B = import('@holdpoint/contracts/b').B;\n",
    'packages/runtime/src/engine/a.js': "import 'node:fs';\nexport * from '../c.js';\n",
    'packages/runtime/src/engine/a.js.map': '{}',
    'packages/runtime/src/engine/a.d.ts': "export type { A } from '../c.ts';\n",
    'packages/runtime/src/c.js': "export const c = 1;\nconst [a, b] = [d('moved from '), d('moved to ')];\n",
    'packages/runtime/src/c.js.map': '{}',
    'packages/runtime/src/c.d.ts': 'export type A = 1;\n',
    'packages/runtime/src/unused.js': '',
  });
  const { files, imported } = collectFiles(built, sdk, entries);
  expect(files.get('packages/sdk/src/index.js')).toBe(
    "import { z } from 'zod';\nimport { a } from '../../runtime/src/engine/a.js';\n",
  );
  expect(files.get('packages/sdk/src/index.d.ts')).toBe(
    "import type { A } from '../../runtime/src/engine/a.js';\nexport type B = import('@holdpoint/contracts/b').B;\n",
  );
  expect(files.get('packages/runtime/src/engine/a.d.ts')).toBe("export type { A } from '../c.js';\n");
  expect([...files.keys()]).not.toContain('packages/runtime/src/unused.js');
  expect(new Map(imported)).toEqual(
    new Map([
      ['zod', 'packages/sdk'],
      ['@holdpoint/contracts', 'packages/sdk'],
    ]),
  );
});

test('an import of a file that was not compiled ends the build with its place', () => {
  const built = builtOf({
    'packages/sdk/src/index.js': "import './gone.js';\n",
    'packages/sdk/src/index.js.map': '{}',
    'packages/sdk/src/index.d.ts': '',
  });
  expect(() => collectFiles(built, sdk, entries)).toThrow(
    '@holdpoint/sdk: packages/sdk/src/index.js imports ./gone.js: packages/sdk/src/gone.js is missing',
  );
});
