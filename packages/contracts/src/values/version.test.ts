import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { VERSION } from './version.ts';

test('services report the version of the workspace', () => {
  const root = join(import.meta.dirname, '..', '..', '..', '..', 'package.json');
  expect(JSON.parse(readFileSync(root, 'utf8'))).toMatchObject({ version: VERSION });
});
