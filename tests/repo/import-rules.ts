import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path/posix';
import { COMPUTED, type Import, type SourceFacts } from './source-facts.ts';

/** An import that should not be there. */
export type Violation = {
  readonly file: string;
  readonly line: number;
  readonly imports: string;
  readonly rule: string;
};

export const showViolation = ({ file, line, imports, rule }: Violation): string =>
  `${file}:${String(line)} -> ${imports}\n    ${rule}`;

/** A part of the repository with a name of its own: a package, a service, or one of the two top folders. */
type Part = { readonly name: string; readonly dir: string; readonly exported: string };

const part = (name: string, dir: string, exported = `${dir}/src`): Part => ({ name, dir, exported });
const SERVICE_NAMES = ['orchestrator', 'approvals', 'executor', 'recovery'] as const;
const PARTS: readonly Part[] = [
  part('contracts', 'packages/contracts'),
  part('runtime', 'packages/runtime'),
  part('workflows', 'packages/workflows'),
  part('programs', 'packages/programs'),
  part('sdk', 'packages/sdk'),
  part('cli', 'packages/cli'),
  part('console', 'packages/console'),
  ...SERVICE_NAMES.map((name) => part(name, `services/${name}`)),
  part('examples', 'examples', 'examples'),
  part('infra', 'infra', 'infra'),
  part('tests', 'tests', 'tests'),
];

/** Who may know whom. Everything not named here is forbidden; `tests` may know everything. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  contracts: [],
  runtime: ['contracts'],
  workflows: ['contracts'],
  programs: ['contracts', 'runtime', 'workflows'],
  // What users write and test their programs with: the same decider, on the runtime in memory.
  sdk: ['contracts', 'runtime', 'programs'],
  cli: ['contracts', 'workflows'],
  console: ['contracts'],
  ...Object.fromEntries(SERVICE_NAMES.map((name) => [name, ['contracts', 'runtime']])),
  orchestrator: ['contracts', 'runtime', 'workflows', 'programs'],
  examples: ['sdk'],
  infra: ['contracts', 'cli', 'workflows'],
  tests: PARTS.map(({ name }) => name),
};

/** The part of the runtime that needs neither a bus nor a database: the engine, and the store and bus in memory. */
const CORE_ROOTS = /^packages\/runtime\/src\/(decider|(engine|host|memory)\/[^/]+)\.ts$/;
const RUNTIME_EDGES = /^packages\/runtime\/src\/(observability|store|bus|service)\//;
const CORE_LIBRARIES: readonly string[] = ['zod', '@opentelemetry/api'];

/** The contract of a decider is all that an aggregate may know of the runtime. */
const DECIDER = 'packages/runtime/src/decider.ts';

type Target =
  | {
      readonly kind: 'file';
      readonly path: string;
      readonly part: Part | undefined;
      readonly relative: boolean;
    }
  | { readonly kind: 'library'; readonly name: string }
  | { readonly kind: 'builtin'; readonly name: string }
  | { readonly kind: 'computed' }
  | { readonly kind: 'unknown' };

type Edge = { readonly from: string; readonly part: Part; readonly at: Import; readonly to: Target };

const partOf = (path: string): Part | undefined => PARTS.find(({ dir }) => path.startsWith(`${dir}/`));
const isTest = (path: string): boolean => path.endsWith('.test.ts');

/** Rooms of a service that may do I/O. Every other folder under `src` holds an aggregate, and is pure. */
const IMPURE_ROOMS = /^(adapters|ports|queries|projections|surfaces|capabilities|api)\//;

/** Whether a file belongs to an aggregate of a service: no I/O, no clock, no randomness, no `await`. */
export const isAggregate = (path: string): boolean => {
  const [, inside] = /^services\/[^/]+\/src\/(.+\/.+)$/.exec(path) ?? [];
  return inside !== undefined && !IMPURE_ROOMS.test(inside) && !isTest(path);
};

const targetOf = (from: string, specifier: string): Target => {
  if (specifier.startsWith('.')) {
    const path = join(dirname(from), specifier);
    return { kind: 'file', path, part: partOf(path), relative: true };
  }
  const own = /^@holdpoint\/([^/]+)\/(.+)$/.exec(specifier);
  if (own !== null) {
    const found = PARTS.find(({ name }) => name === own[1]);
    if (found === undefined) return { kind: 'unknown' };
    const folder = own[1] !== 'sdk' && own[2]?.startsWith('testing/') === true ? found.dir : found.exported;
    return { kind: 'file', path: `${folder}/${String(own[2])}.ts`, part: found, relative: false };
  }
  if (specifier === COMPUTED) return { kind: 'computed' };
  if (specifier.startsWith('node:') || builtinModules.includes(specifier)) {
    return { kind: 'builtin', name: specifier.replace(/^node:/, '') };
  }
  const [scope = '', name = ''] = specifier.split('/');
  return { kind: 'library', name: scope.startsWith('@') ? `${scope}/${name}` : scope };
};

/** A rule says what is wrong with an edge, or nothing. */
type Rule = (edge: Edge) => string | undefined;

/** Loads what an operator has named, which is no part of this repository. */
const LOADS_WHAT_OTHERS_NAME = 'services/executor/src/capabilities/custom-capabilities.ts';

const resolvable: Rule = ({ from, part: { name }, to }) => {
  if (to.kind === 'unknown') return 'there is no such package in this workspace';
  // Migrations are found by their file names; what is deployed names what it imports.
  const isFree = name === 'infra' || name === 'tests' || from === LOADS_WHAT_OTHERS_NAME;
  const hidden = to.kind === 'computed' && !isFree;
  return hidden ? 'an import is written out, so that it can be checked' : undefined;
};

/** The one place that knows all services: it runs several of them in one process. */
const RUNS_SERVICES = 'infra/serve.ts';
const RUN_BY_IT: readonly string[] = ['runtime', ...SERVICE_NAMES];

const direction: Rule = ({ from: file, part: from, to }) => {
  if (to.kind !== 'file' || to.part === from) return undefined;
  if (to.part === undefined) return 'an import stays inside the packages of this workspace';
  if (file === RUNS_SERVICES && RUN_BY_IT.includes(to.part.name)) return undefined;
  if (MAY_IMPORT[from.name]?.includes(to.part.name) !== true)
    return `${from.name} may not know ${to.part.name}`;
  return to.relative ? `reached by path: write @holdpoint/${to.part.name}/...` : undefined;
};

const contractsStayPortable: Rule = ({ from, to }) =>
  from.startsWith('packages/contracts/src/') && !isTest(from) && to.kind === 'builtin' && to.name !== 'crypto'
    ? 'contracts use no part of Node.js but node:crypto'
    : undefined;

/** The orchestrator decides by it, and users' tests do. */
const programsStayPure: Rule = ({ from, to }) => {
  if (!from.startsWith('packages/programs/src/') || isTest(from)) return undefined;
  const isPure =
    to.kind === 'file' &&
    (to.part?.name === 'contracts' ||
      to.part?.name === 'programs' ||
      to.path === DECIDER ||
      (to.part?.name === 'workflows' && !to.path.startsWith(WORKFLOW_FILES)));
  return isPure
    ? undefined
    : 'programs import only contracts, the decider contract of the runtime, and what is pure of workflows';
};

const WORKFLOW_FILES = 'packages/workflows/src/files/';

/** Templates, graphs and expressions come in as data, so that the orchestrator's domain may use them. */
const workflowsReadFilesInOnePlace: Rule = ({ from, to }) => {
  if (!from.startsWith('packages/workflows/src/') || isTest(from) || to.kind !== 'builtin') return undefined;
  if (to.name === 'crypto' || from.startsWith(WORKFLOW_FILES)) return undefined;
  return 'workflows use no part of Node.js but node:crypto outside src/files';
};

const filesStayAtTheEdge: Rule = ({ from, to }) =>
  from.startsWith('packages/workflows/src/') &&
  !from.startsWith(WORKFLOW_FILES) &&
  !isTest(from) &&
  to.kind === 'file' &&
  to.path.startsWith(WORKFLOW_FILES)
    ? 'what is pure may not know what reads files'
    : undefined;

const aggregatesStayPure: Rule = ({ from, part: { dir }, to }) => {
  if (!isAggregate(from)) return undefined;
  const isPure =
    to.kind === 'file' &&
    (to.part?.name === 'contracts' ||
      to.part?.name === 'programs' ||
      to.path === DECIDER ||
      (to.path.startsWith(`${dir}/src/`) && isAggregate(to.path)) ||
      // Whether a service may know workflows at all is checked by `direction`.
      (to.part?.name === 'workflows' && !to.path.startsWith(WORKFLOW_FILES)));
  return isPure
    ? undefined
    : 'an aggregate imports only contracts, the decider contract of the runtime, programs, the pure part of workflows, and aggregates of its own service';
};

/** Inside a service: aggregates <- queries, adapters <- api, service <- main. */
const LAYERS: readonly RegExp[] = [/^(queries|projections|adapters)\//, /^(api|service)\.ts$/, /^main\.ts$/];
const layerOf = (dir: string, path: string): number =>
  isAggregate(path) ? 0 : 1 + LAYERS.findIndex((layer) => layer.test(path.slice(`${dir}/src/`.length)));

const layersPointInwards: Rule = ({ from, part: { dir }, to }) => {
  if (!dir.startsWith('services/') || to.kind !== 'file' || !to.path.startsWith(`${dir}/src/`))
    return undefined;
  const layer = layerOf(dir, from);
  return (layer > 0 || isAggregate(from)) && layerOf(dir, to.path) > layer && !isTest(from)
    ? 'an inner layer may not know an outer one'
    : undefined;
};

/** Rooms of a folder, from the inside to the outside: a room may import only rooms before it. */
const roomsPointInwards =
  (folder: string, rooms: readonly string[]): Rule =>
  ({ from, to }) => {
    const roomOf = (path: string): number =>
      path.startsWith(`${folder}/`) ? rooms.indexOf(path.slice(folder.length + 1).split('/')[0] ?? '') : -1;
    if (to.kind !== 'file' || isTest(from) || roomOf(from) < 0 || roomOf(to.path) <= roomOf(from))
      return undefined;
    return `rooms of ${folder}, from the inside: ${rooms.join(', ')}`;
  };

const WORKFLOW_ROOMS = [
  'problems',
  'graph',
  'reading',
  'config',
  'expression',
  'gate',
  'recovery',
  'definition',
  'drawing',
  'template',
  'compiler',
  'files',
];

const ROOMS: readonly Rule[] = [
  roomsPointInwards('services/executor/src', ['ports', 'adapters', 'capabilities']),
  roomsPointInwards('packages/runtime/src', ['engine', 'memory', 'observability', 'store', 'bus', 'service']),
  roomsPointInwards('packages/workflows/src', WORKFLOW_ROOMS),
  roomsPointInwards('packages/workflows/src/compiler', ['parameters', 'node', 'effect', 'rules']),
  roomsPointInwards('packages/workflows/src/expression', ['operations', 'syntax', 'template', 'evaluation']),
  roomsPointInwards('packages/sdk/src/activation', ['session', 'context', 'phases']),
];

/** Shipped code contains no test helpers: those live in `testing/` beside `src`, or in `tests/`. */
const shippedCodeKnowsNoTests: Rule = ({ from, to }) =>
  /^(services|packages\/runtime)\/.*\bsrc\//.test(from) &&
  !isTest(from) &&
  ((to.kind === 'file' && /\/testing\//.test(to.path)) || (to.kind === 'library' && to.name === 'vitest'))
    ? 'shipped code may not import test helpers'
    : undefined;

const servicesLeaveTheBusToTheRuntime: Rule = ({ from, to }) =>
  from.startsWith('services/') && to.kind === 'library' && to.name.startsWith('@nats-io/')
    ? 'only the runtime talks to the bus'
    : undefined;

const coreStaysPortable =
  (core: ReadonlySet<string>): Rule =>
  ({ from, to }) => {
    if (!core.has(from)) return undefined;
    if (to.kind === 'file' && !RUNTIME_EDGES.test(to.path)) return undefined;
    if (to.kind === 'library' && CORE_LIBRARIES.includes(to.name)) return undefined;
    return `the runtime's core imports only contracts, itself and ${CORE_LIBRARIES.join(', ')}`;
  };

/** Everything that the core's roots reach inside the runtime. An edge to the outside is not followed: it is the fault to show. */
const coreOf = (edges: readonly Edge[]): ReadonlySet<string> => {
  const core = new Set(
    edges.map(({ from }) => from).filter((path) => CORE_ROOTS.test(path) && !isTest(path)),
  );
  for (const reached of core) {
    for (const { from, to } of edges) {
      if (
        from === reached &&
        to.kind === 'file' &&
        to.part?.name === 'runtime' &&
        !RUNTIME_EDGES.test(to.path)
      )
        core.add(to.path);
    }
  }
  return core;
};

const VAGUE_NAME = /\/(index|utils|types|constants)\.ts$/;

const vagueNames = (files: readonly SourceFacts[]): readonly Violation[] =>
  files
    .filter(({ path }) => path.startsWith('services/') && VAGUE_NAME.test(path))
    .map(({ path }) => ({
      file: path,
      line: 1,
      imports: '(its name)',
      rule: 'a thing lives with what gives it meaning',
    }));

/** A larger folder holds more than one subject. */
const FILES_PER_FOLDER_MAX = 20;

const fullFolders = (files: readonly SourceFacts[]): readonly Violation[] => {
  const counts = new Map<string, number>();
  for (const { path } of files)
    if (/^(services|packages)\/[^/]+\/src\//.test(path) && !isTest(path))
      counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
  return [...counts]
    .filter(([, count]) => count > FILES_PER_FOLDER_MAX)
    .map(([folder, count]) => ({
      file: folder,
      line: 1,
      imports: `(${String(count)} files)`,
      rule: `a folder has at most ${String(FILES_PER_FOLDER_MAX)} source files: make rooms in it`,
    }));
};

const edgesOf = (files: readonly SourceFacts[]): readonly Edge[] =>
  files.flatMap(({ path, imports }) => {
    const from = partOf(path);
    if (from === undefined) return [];
    return imports.map((at): Edge => ({ from: path, part: from, at, to: targetOf(path, at.specifier) }));
  });

/** The files of the runtime's core, for the rules about what they may do. */
export const runtimeCore = (files: readonly SourceFacts[]): ReadonlySet<string> => coreOf(edgesOf(files));

/** Every import that points the wrong way. Pure, so that it can be shown a bad tree. */
export const checkImports = (files: readonly SourceFacts[]): readonly Violation[] => {
  const edges = edgesOf(files);
  const rules: readonly Rule[] = [
    resolvable,
    direction,
    contractsStayPortable,
    programsStayPure,
    workflowsReadFilesInOnePlace,
    filesStayAtTheEdge,
    aggregatesStayPure,
    layersPointInwards,
    ...ROOMS,
    shippedCodeKnowsNoTests,
    servicesLeaveTheBusToTheRuntime,
    coreStaysPortable(coreOf(edges)),
  ];
  const wrong = edges.flatMap((edge) =>
    rules.flatMap((rule) => {
      const said = rule(edge);
      return said === undefined
        ? []
        : [{ file: edge.from, line: edge.at.line, imports: edge.at.specifier, rule: said }];
    }),
  );
  return [...wrong, ...vagueNames(files), ...fullFolders(files)];
};
