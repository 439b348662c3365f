import { defineConfig } from 'vitest/config';

const nowhere = ['**/node_modules/**', '**/.holdpoint/**'];

// oxlint-disable-next-line import/no-default-export -- the test runner asks for it
export default defineConfig({
  test: {
    // Two cores are what a small machine has, and every integration test brings servers of its own.
    maxWorkers: 2,
    projects: [
      {
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [...nowhere, '**/*.int.test.ts', '**/*.e2e.test.ts'],
          // A bound for what hangs, as below.
          testTimeout: 60_000,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'int',
          include: ['**/*.int.test.ts'],
          exclude: nowhere,
          globalSetup: ['tests/kit/stack/global-setup.ts'],
          // Bounds for what hangs: no test passes or fails by how long it takes.
          testTimeout: 300_000,
          hookTimeout: 180_000,
          // Concurrent tests wait most of the time; each has servers of its own.
          maxConcurrency: 8,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['tests/{e2e,conformance}/**/*.e2e.test.ts'],
          exclude: nowhere,
          globalSetup: ['tests/kit/stack/global-setup.ts'],
          testTimeout: 300_000,
          hookTimeout: 240_000,
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});
