import { describe, expect, test } from 'vitest';
import { checkImports, showViolation } from './import-rules.ts';
import { factsOf, type SourceFacts } from './source-facts.ts';
import { readTree } from './source-tree.ts';

type Tree = Readonly<Record<string, string>>;

const parse = (tree: Tree): readonly SourceFacts[] =>
  Object.entries(tree).map(([path, source]) => factsOf(path, source));
const faults = (tree: Tree): readonly string[] =>
  checkImports(parse(tree)).map(({ file, line, imports }) => `${file}:${String(line)} -> ${imports}`);

test('every import of this repository points the right way', () => {
  const tree = readTree();
  expect(tree.length).toBeGreaterThan(20);
  expect(checkImports(tree).map(showViolation)).toEqual([]);
});

describe('the check shows the offending edge', () => {
  const bad: readonly (readonly [rule: string, path: string, source: string, edge: string])[] = [
    [
      'a service knows another service',
      'services/executor/src/service.ts',
      `import { x } from '@holdpoint/approvals/domain/x';`,
      '@holdpoint/approvals/domain/x',
    ],
    [
      'a service knows another one by path',
      'services/executor/src/service.ts',
      `import { x } from '../../approvals/src/x.ts';`,
      '../../approvals/src/x.ts',
    ],
    [
      'a service knows the tools around it',
      'services/executor/src/service.ts',
      `import { x } from '@holdpoint/cli/bus/client';`,
      '@holdpoint/cli/bus/client',
    ],
    [
      'the runtime knows a service',
      'packages/runtime/src/service/service.ts',
      `import { x } from '@holdpoint/executor/x';`,
      '@holdpoint/executor/x',
    ],
    [
      'the contracts know the runtime',
      'packages/contracts/src/task/task.ts',
      `import { x } from '@holdpoint/runtime/engine/engine';`,
      '@holdpoint/runtime/engine/engine',
    ],
    [
      'a type counts as much as a value',
      'packages/contracts/src/task/task.ts',
      `import type { X } from '@holdpoint/runtime/engine/engine';`,
      '@holdpoint/runtime/engine/engine',
    ],
    [
      'a type in place counts',
      'packages/contracts/src/task/task.ts',
      `type X = import('@holdpoint/runtime/engine/engine').X;`,
      '@holdpoint/runtime/engine/engine',
    ],
    [
      'an export that hands on counts',
      'packages/contracts/src/task/task.ts',
      `export * from '@holdpoint/runtime/engine/engine';`,
      '@holdpoint/runtime/engine/engine',
    ],
    [
      'a dynamic import counts',
      'packages/contracts/src/task/task.ts',
      `await import('@holdpoint/runtime/engine/engine');`,
      '@holdpoint/runtime/engine/engine',
    ],
    [
      'a dynamic import hides its target',
      'services/executor/src/service.ts',
      `await import(somewhere);`,
      '(computed)',
    ],
    [
      'a package that nobody has',
      'services/executor/src/service.ts',
      `import { x } from '@holdpoint/nowhere/x';`,
      '@holdpoint/nowhere/x',
    ],
    [
      'a path instead of the package name',
      'services/executor/src/service.ts',
      `import { x } from '../../../packages/contracts/src/x.ts';`,
      '../../../packages/contracts/src/x.ts',
    ],
    [
      'a path out of the workspace',
      'services/executor/src/service.ts',
      `import { x } from '../../../../elsewhere.ts';`,
      '../../../../elsewhere.ts',
    ],
    [
      'the command line knows the runtime',
      'packages/cli/src/bus/client.ts',
      `import { x } from '@holdpoint/runtime/observability/log';`,
      '@holdpoint/runtime/observability/log',
    ],
    [
      'contracts read files',
      'packages/contracts/src/task/task.ts',
      `import { readFileSync } from 'node:fs';`,
      'node:fs',
    ],
    [
      'workflows know the runtime',
      'packages/workflows/src/compiler/compile.ts',
      `import { x } from '@holdpoint/runtime/engine/engine';`,
      '@holdpoint/runtime/engine/engine',
    ],
    [
      'workflows read files outside their own place for it',
      'packages/workflows/src/template/load.ts',
      `import { join } from 'node:path';`,
      'node:path',
    ],
    [
      'what is pure of workflows knows what reads files',
      'packages/workflows/src/compiler/compile.ts',
      `import { x } from '../files/repository.ts';`,
      '../files/repository.ts',
    ],
    [
      'a domain knows how workflows read files',
      'services/orchestrator/src/domain/x.ts',
      `import { x } from '@holdpoint/workflows/files/repository';`,
      '@holdpoint/workflows/files/repository',
    ],
    [
      'a service without need of them knows workflows',
      'services/executor/src/domain/x.ts',
      `import { x } from '@holdpoint/workflows/graph/graph';`,
      '@holdpoint/workflows/graph/graph',
    ],
    ['a domain knows a library', 'services/executor/src/domain/x.ts', `import { z } from 'zod';`, 'zod'],
    [
      'a domain knows the store',
      'services/executor/src/domain/x.ts',
      `import { x } from '@holdpoint/runtime/store/store';`,
      '@holdpoint/runtime/store/store',
    ],
    [
      'a domain knows Node.js',
      'services/executor/src/domain/x.ts',
      `import { randomUUID } from 'crypto';`,
      'crypto',
    ],
    [
      'a domain knows an adapter',
      'services/executor/src/domain/x.ts',
      `import { x } from '../adapters/file.ts';`,
      '../adapters/file.ts',
    ],
    [
      'an adapter knows the wiring',
      'services/executor/src/adapters/x.ts',
      `import { x } from '../service.ts';`,
      '../service.ts',
    ],
    [
      'the wiring knows main',
      'services/executor/src/service.ts',
      `import { x } from './main.ts';`,
      './main.ts',
    ],
    [
      'a service talks to the bus itself',
      'services/executor/src/service.ts',
      `import { connect } from '@nats-io/transport-node';`,
      '@nats-io/transport-node',
    ],
    [
      'the core knows Node.js',
      'packages/runtime/src/engine/engine.ts',
      `import { setTimeout } from 'node:timers/promises';`,
      'node:timers/promises',
    ],
    ['the core knows the database', 'packages/runtime/src/memory/store.ts', `import pg from 'pg';`, 'pg'],
    [
      'the store knows the bus',
      'packages/runtime/src/store/store.ts',
      `import { x } from '../bus/source.ts';`,
      '../bus/source.ts',
    ],
    [
      'an inner room of workflows knows an outer one',
      'packages/workflows/src/gate/parse.ts',
      `import { x } from '../template/schema.ts';`,
      '../template/schema.ts',
    ],
    [
      'shipped code knows a test helper',
      'services/executor/src/service.ts',
      `import { x } from '@holdpoint/runtime/testing/run';`,
      '@holdpoint/runtime/testing/run',
    ],
    [
      'an aggregate in a folder of its own knows Node.js',
      'services/executor/src/effect/x.ts',
      `import { randomUUID } from 'crypto';`,
      'crypto',
    ],
    [
      'the core knows the bus',
      'packages/runtime/src/engine/engine.ts',
      `import { x } from '../bus/source.ts';`,
      '../bus/source.ts',
    ],
  ];

  test.each(bad)('%s', (_, path, source, edge) => {
    // Leading lines, so that the line number is not right by chance.
    expect(new Set(faults({ [path]: `// one\n// two\n${source}` }))).toEqual(
      new Set([`${path}:3 -> ${edge}`]),
    );
  });

  test('what the core reaches is core as well', () => {
    const tree = {
      'packages/runtime/src/engine/engine.ts': `import { x } from './batch.ts';`,
      'packages/runtime/src/engine/batch.ts': `import { y } from '../deep.ts';`,
      'packages/runtime/src/deep.ts': `import { z } from 'kysely';`,
      'packages/runtime/src/service/service.ts': `import { z } from 'kysely';`,
    };
    expect(faults(tree)).toEqual(['packages/runtime/src/deep.ts:1 -> kysely']);
  });

  test.each(['index', 'utils', 'types', 'constants'])('a service has no %s.ts', (name) => {
    const path = `services/executor/src/domain/${name}.ts`;
    expect(faults({ [path]: '' })).toEqual([`${path}:1 -> (its name)`]);
  });

  test('a folder with more than twenty source files is shown', () => {
    const files = (count: number): Tree =>
      Object.fromEntries(
        Array.from({ length: count }, (_, i) => [`services/executor/src/effect/f${String(i)}.ts`, '']),
      );
    const tests = { 'services/executor/src/effect/f.test.ts': '' };
    expect(faults({ ...files(20), ...tests })).toEqual([]);
    expect(faults({ ...files(21), ...tests })).toEqual(['services/executor/src/effect:1 -> (21 files)']);
  });

  test('a file that cannot be parsed passes nothing', () => {
    expect(() => parse({ 'services/executor/src/x.ts': 'const = ;' })).toThrow('services/executor/src/x.ts');
  });
});

test('what is allowed is not shown', () => {
  const tree = {
    'packages/contracts/src/values/json.ts': `import { createHash } from 'node:crypto';\nimport { z } from 'zod';`,
    'packages/runtime/src/engine/engine.ts': `import { x } from '@holdpoint/contracts/values/errors';\nimport { z } from 'zod';`,
    'packages/runtime/src/bus/source.ts': `import { x } from '../engine/engine.ts';\nimport { y } from '@nats-io/jetstream';`,
    'services/executor/src/effect/decide.ts': `\nimport { y } from './grant.ts';\nimport type { Decider } from '@holdpoint/runtime/decider';`,
    'packages/workflows/src/compiler/compile.ts': `import { createHash } from 'node:crypto';\nimport { parse } from 'smol-toml';\nimport { x } from '@holdpoint/contracts/workflow/workflow';`,
    'packages/workflows/src/files/repository.ts': `import { realpath } from 'node:fs/promises';\nimport { x } from '../compile.ts';`,
    'services/orchestrator/src/domain/run.ts': `import { x } from '@holdpoint/workflows/graph/graph';`,
    'packages/cli/src/run.ts': `import { x } from '@holdpoint/workflows/files/repository';`,
    'services/executor/src/domain/effect.test.ts': `import fc from 'fast-check';\nimport { test } from 'vitest';`,
    'services/executor/src/main.ts': `import { x } from './service.ts';\nimport { y } from '@holdpoint/runtime/observability/log';`,
    'services/executor/src/adapters/file.ts': `import { x } from '../domain/effect.ts';\nimport { open } from 'node:fs/promises';`,
    'packages/cli/src/bus/client.ts': `import { connect } from '@nats-io/transport-node';`,
    'infra/local/run.ts': `import { x } from '@holdpoint/cli/bus/client';`,
    'tests/e2e/x.test.ts': `import { x } from '@holdpoint/executor/service';\nimport { y } from '@holdpoint/infra/local/run';`,
    'infra/postgres/migrate.ts': `await import(file);`,
  };
  expect(faults(tree)).toEqual([]);
});
