import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inOrder, LONGEST, projectOf, REST } from './levels.ts';
import { root } from './local/folders.ts';

test.each([
  ['services/approvals/src/approval/evolve.test.ts', 'unit'],
  ['services/executor/src/adapters/process/launcher.test.ts', 'adapters'],
  ['infra/postgres/provision.int.test.ts', 'quick'],
  ['tests/integration/approvals/bad-decisions.int.test.ts', 'quick'],
  ['tests/integration/runtime/crash-points.int.test.ts', 'int'],
  ['tests/simulation/simulation.test.ts', 'proof'],
  ['tests/simulation/seeds.long.test.ts', 'long'],
  ['tests/conformance/control.e2e.test.ts', 'e2e'],
  ['tests/e2e/soak.e2e.test.ts', 'nightly'],
] as const)('%s belongs to the project %s', (file, project) => {
  expect(projectOf(file)).toBe(project);
});

test('the longest files of the rest start first, and each of them exists', () => {
  const [longest = '', ...others] = LONGEST;
  const files = ['tests/e2e/b.e2e.test.ts', 'tests/z.test.ts', longest, 'tests/integration/x/a.int.test.ts'];
  expect(inOrder(files, (file) => file)).toEqual([
    'tests/z.test.ts',
    longest,
    'tests/integration/x/a.int.test.ts',
    'tests/e2e/b.e2e.test.ts',
  ]);
  expect([longest, ...others].filter((file) => !existsSync(join(root, file)))).toEqual([]);
  expect(LONGEST.filter((file) => !REST.includes(projectOf(file)))).toEqual([]);
});
