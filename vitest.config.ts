import { relative } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { ADAPTERS, inOrder, NIGHTLY, PROOF, QUICK, SUFFIXED } from './infra/levels.ts';

const NEVER = ['**/node_modules/**', '**/.holdpoint/**'];
/** NATS and PostgreSQL are real. Bounds are for what hangs: no test passes or fails by its duration. */
const real = {
  globalSetup: ['tests/kit/stack/global-setup.ts'],
  testTimeout: 300_000,
  hookTimeout: 240_000,
  // Concurrent tests wait most of the time, each with servers of its own.
  maxConcurrency: 8,
};

/** One group: tests that wait for leases, resends and downloads leave the cores to those that compute. */
const rest = { maxWorkers: 3, sequence: { groupOrder: 3 } };

/** Without a record of earlier runs, the test runner would start the largest files first. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const pathOf = ({ moduleId }: TestSpecification): string => relative(this.ctx.config.root, moduleId);
    return inOrder(sorted, pathOf);
  }
}

// oxlint-disable-next-line import/no-default-export -- the test runner asks for it
export default defineConfig({
  test: {
    // A small machine has two cores.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          setupFiles: ['tests/kit/fixed-seed.ts'],
          include: ['**/*.test.ts'],
          exclude: [...NEVER, ...SUFFIXED, ...ADAPTERS, ...PROOF],
          testTimeout: 120_000,
          // Pure tests share a worker: each module is loaded once, not once per file.
          pool: 'threads',
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'adapters',
          setupFiles: ['tests/kit/fixed-seed.ts'],
          include: [...ADAPTERS],
          exclude: [...NEVER, ...SUFFIXED],
          testTimeout: 120_000,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'proof',
          setupFiles: ['tests/kit/fixed-seed.ts'],
          include: [...PROOF],
          exclude: [...NEVER, ...SUFFIXED],
          testTimeout: 300_000,
          sequence: { groupOrder: 1 },
        },
      },
      { test: { ...real, name: 'quick', include: [...QUICK], maxWorkers: 3, sequence: { groupOrder: 2 } } },
      {
        test: {
          name: 'long',
          setupFiles: ['tests/kit/fixed-seed.ts'],
          include: ['tests/**/*.long.test.ts'],
          exclude: NEVER,
          testTimeout: 1_200_000,
          ...rest,
        },
      },
      {
        test: { ...real, name: 'int', include: ['**/*.int.test.ts'], exclude: [...NEVER, ...QUICK], ...rest },
      },
      {
        test: {
          ...real,
          name: 'e2e',
          include: ['tests/{e2e,conformance}/**/*.e2e.test.ts'],
          exclude: [...NEVER, ...NIGHTLY],
          ...rest,
        },
      },
      { test: { ...real, name: 'nightly', include: [...NIGHTLY], sequence: { groupOrder: 4 } } },
    ],
  },
});
