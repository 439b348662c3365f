import { basename, matchesGlob } from 'node:path';

/** Files, git repositories, sockets and processes of the machine: each test file has a process of its own. */
export const ADAPTERS: readonly string[] = [
  'services/executor/src/{adapters,capabilities}/**/*.test.ts',
  'infra/**/*.test.ts',
  'examples/**/*.test.ts',
  'tests/counter/*.test.ts',
  'tests/repo/docs-code.test.ts',
];

/** The deciders of all services in worlds that the tests invent. */
export const PROOF: readonly string[] = [
  'tests/{simulation,crash-points,models,fuzz,torture,planted}/**/*.test.ts',
];

const integration = (folder: string, ...names: readonly string[]): readonly string[] =>
  names.map((name) => `tests/integration/${folder}/${name}.int.test.ts`);

/** The integration tests of `npm test`: the store, the bus, the APIs, and one kill of each service. */
export const QUICK: readonly string[] = [
  ...integration(
    'runtime',
    'store-contract',
    'ownership',
    'object-store',
    'engine-postgres',
    'kill-each-service',
    'schema',
  ),
  ...integration('bus', 'odd-messages', 'separation', 'dead-letters'),
  ...integration(
    'tasks',
    'gated-task',
    'budget',
    'bad-submissions',
    'task-list',
    'failure-classes',
    'programs',
    'retention',
  ),
  ...integration(
    'approvals',
    'bad-decisions',
    'inbox',
    'inbox-service',
    'http-surface',
    'rules',
    'audit-service',
  ),
  ...integration('approvals', 'console-gateway', 'websocket', 'identity'),
  ...integration('executor', 'effect-orders', 'work-orders', 'circuits', 'in-doubt', 'http-effects'),
  ...integration('executor', 'own-capabilities', 'outside-effects', 'hostile-processes'),
  'infra/nats/permissions.int.test.ts',
  'infra/postgres/provision.int.test.ts',
];

/** Measurements, kills at random moments, and a second build of the image: `npm run prove` runs them every night. */
export const NIGHTLY: readonly string[] = [
  'tests/e2e/bench.e2e.test.ts',
  'tests/e2e/soak.e2e.test.ts',
  'tests/e2e/compose/image.e2e.test.ts',
  'tests/e2e/killed-services.e2e.test.ts',
  'tests/e2e/stages/stages-killed.e2e.test.ts',
];

/** The projects of `vitest.config.ts`. */
export type Project = 'unit' | 'adapters' | 'proof' | 'quick' | 'long' | 'int' | 'e2e' | 'nightly';

const QUICK_PROJECTS: readonly Project[] = ['unit', 'adapters', 'proof', 'quick'];
/** The projects of `npm run test:all` that `npm test` leaves out. */
export const REST: readonly Project[] = ['long', 'int', 'e2e'];

/** The projects of each level. `prove` runs programs of its own. */
export const LEVELS = {
  check: ['unit'],
  test: QUICK_PROJECTS,
  all: [...QUICK_PROJECTS, ...REST],
  prove: [],
} as const satisfies Readonly<Record<string, readonly Project[]>>;

const BY_SUFFIX = { '.int.test.ts': 'int', '.e2e.test.ts': 'e2e', '.long.test.ts': 'long' } as const;
/** The files of the projects above. */
export const SUFFIXED: readonly string[] = Object.keys(BY_SUFFIX).map((suffix) => `**/*${suffix}`);

/** The project that runs a test file. */
export const projectOf = (file: string): Project => {
  if (QUICK.includes(file)) return 'quick';
  if (NIGHTLY.includes(file)) return 'nightly';
  for (const [suffix, project] of Object.entries(BY_SUFFIX)) if (file.endsWith(suffix)) return project;
  const isIn = (globs: readonly string[]): boolean => globs.some((glob) => matchesGlob(file, glob));
  if (isIn(ADAPTERS)) return 'adapters';
  return isIn(PROOF) ? 'proof' : 'unit';
};

/** The test files of `npm run test:all -- --rest` that take minutes, in the order of their start: none may be the last. */
export const LONGEST: readonly string[] = [
  'tests/e2e/torture.e2e.test.ts',
  'tests/e2e/compose/compose.e2e.test.ts',
  'tests/simulation/simulation.long.test.ts',
  'tests/integration/claimants/claimants.int.test.ts',
  'tests/e2e/packages.e2e.test.ts',
  'tests/integration/executor/executor-outages.int.test.ts',
  'tests/integration/executor/executor-frozen.int.test.ts',
  'tests/integration/executor/executor-killed.int.test.ts',
  'tests/integration/runtime/crash-points.int.test.ts',
  'tests/integration/bus/forgetful-bus.int.test.ts',
  'tests/integration/executor/executor-neighbours.int.test.ts',
  'tests/e2e/last-release.e2e.test.ts',
  'tests/e2e/python/python.e2e.test.ts',
];

/**
 * The longest files first. The other files of the rest by their names: tests that wait then run beside tests that compute.
 * All others keep their order.
 */
export const inOrder = <T>(files: readonly T[], pathOf: (file: T) => string): T[] => {
  const isOfRest = (file: T): boolean => REST.includes(projectOf(pathOf(file)));
  const rank = (file: T): number => {
    const at = LONGEST.indexOf(pathOf(file));
    return at === -1 ? LONGEST.length : at;
  };
  const rest = files.filter(isOfRest);
  const byName = rest.toSorted(
    (a, b) => rank(a) - rank(b) || basename(pathOf(a)).localeCompare(basename(pathOf(b))),
  );
  return [...files.filter((file) => !isOfRest(file)), ...byName];
};
