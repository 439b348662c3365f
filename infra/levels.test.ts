import { expect, test } from 'vitest';
import { projectOf } from './levels.ts';

test.each([
  ['services/approvals/src/approval/evolve.test.ts', 'unit'],
  ['services/executor/src/adapters/process/launcher.test.ts', 'adapters'],
  ['infra/postgres/provision.int.test.ts', 'quick'],
  ['tests/integration/approvals/bad-decisions.int.test.ts', 'quick'],
  ['tests/integration/runtime/crash-points.int.test.ts', 'int'],
  ['tests/simulation/simulation.test.ts', 'proof'],
  ['tests/simulation/seeds.long.test.ts', 'long'],
  ['tests/conformance/control.e2e.test.ts', 'e2e'],
] as const)('%s belongs to the project %s', (file, project) => {
  expect(projectOf(file)).toBe(project);
});
