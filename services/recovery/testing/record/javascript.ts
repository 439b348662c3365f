import { bin, type Case, type Cases } from './case.ts';

const TSC = [bin('tsc'), '--version'] as const;
const NODE = ['node', '--version'] as const;
const tsconfig = (options: object = {}): string =>
  JSON.stringify({
    compilerOptions: {
      strict: true,
      noEmit: true,
      module: 'nodenext',
      target: 'es2022',
      types: [],
      ...options,
    },
    include: ['src'],
  });
const esm = '{ "type": "module" }';

const typescript: readonly Case[] = [
  {
    name: 'type-error',
    tool: TSC,
    files: {
      'tsconfig.json': tsconfig(),
      'src/price.ts': `export const total = (prices: readonly number[]): number => {
  const sum: number = prices.map(String).join('+');
  return sum;
};
`,
    },
    run: [bin('tsc'), '-p', '.'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'pretty-several-files',
    tool: TSC,
    files: {
      'tsconfig.json': tsconfig(),
      'src/cart.ts': `import { total } from './price.ts';\n\nexport const label = (): string => total([1, 2]).toFixd(2);\n`,
      'src/price.ts': `export const total = (prices: number[]): number => prices.reduce((a, b) => a + b, '0');\n`,
    },
    run: [bin('tsc'), '-p', '.', '--pretty', '--allowImportingTsExtensions'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'syntax-error',
    tool: TSC,
    files: {
      'tsconfig.json': tsconfig(),
      'src/queue.ts': `export const next = (queue: string[]): string => {\n  if (queue.length > 0 {\n    return queue[0];\n  }\n;\n`,
    },
    run: [bin('tsc'), '-p', '.'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'missing-module',
    tool: TSC,
    files: {
      'tsconfig.json': tsconfig(),
      'src/server.ts': `import { createServer } from 'fast-little-server';\nimport { settings } from './settings.js';\n\ncreateServer(settings);\n`,
    },
    run: [bin('tsc'), '-p', '.'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'no-inputs',
    tool: TSC,
    files: { 'tsconfig.json': tsconfig({ modul: 'commonjs' }), 'lib/x.ts': '' },
    run: [bin('tsc'), '-p', '.'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'build-mode',
    tool: TSC,
    files: {
      'tsconfig.json': `{ "files": [], "references": [{ "path": "./packages/core" }] }`,
      'packages/core/tsconfig.json': `{ "compilerOptions": { "composite": true, "strict": true, "outDir": "out", "types": [] } }`,
      'packages/core/retry.ts': `export const retry = async (run) => { let tries: string = 3; return run(tries); };\n`,
    },
    run: [bin('tsc'), '-b', '--pretty', 'false'],
    class: 'BROKEN_BUILD',
  },
];

const node: readonly Case[] = [
  {
    name: 'syntax-error',
    tool: NODE,
    files: { 'package.json': esm, 'build.js': `const targets = ['a', 'b';\nconsole.log(targets);\n` },
    run: ['node', 'build.js'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'missing-package',
    tool: NODE,
    files: { 'package.json': esm, 'main.js': `import leftpad from 'no-such-left-pad';\nleftpad('x');\n` },
    run: ['node', 'main.js'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'missing-file-commonjs',
    tool: NODE,
    files: { 'main.cjs': `const { run } = require('./lib/runner');\nrun();\n` },
    run: ['node', 'main.cjs'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'missing-export',
    tool: NODE,
    files: {
      'package.json': esm,
      'main.js': `import { start } from './engine.js';\nstart();\n`,
      'engine.js': `export const begin = () => {};\n`,
    },
    run: ['node', 'main.js'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'not-json-at-run-time',
    tool: NODE,
    files: { 'main.js': `console.log(JSON.parse('<html></html>').version);\n` },
    run: ['node', 'main.js'],
    class: 'UNKNOWN',
  },
  {
    name: 'type-error-at-run-time',
    tool: NODE,
    files: { 'main.js': `const config = {};\nconsole.log(config.server.port);\n` },
    run: ['node', 'main.js'],
    class: 'UNKNOWN',
  },
  {
    name: 'assertion-in-a-script',
    tool: NODE,
    files: {
      'check.js': `const assert = require('node:assert/strict');\nassert.equal([1, 2, 3].at(-1), 2, 'the last of the list');\n`,
    },
    run: ['node', 'check.js'],
    class: 'VERIFICATION_FAILED',
  },
  {
    name: 'esbuild-syntax-error',
    tool: [bin('esbuild'), '--version'],
    files: { 'src/app.ts': `export function app( {\n  return 1;\n}\n` },
    run: [bin('esbuild'), 'src/app.ts', '--bundle', '--outfile=out.js'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'esbuild-unresolved',
    tool: [bin('esbuild'), '--version'],
    files: { 'src/app.ts': `import { view } from './view';\nimport React from 'reakt';\nview(React);\n` },
    run: [bin('esbuild'), 'src/app.ts', '--bundle', '--outfile=out.js'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'vite-build-unresolved',
    tool: [bin('vite'), '--version'],
    files: {
      'index.html': `<script type="module" src="/src/main.js"></script>`,
      'src/main.js': `import { view } from './view.js';\nview();\n`,
    },
    run: [bin('vite'), 'build', '--configLoader', 'native'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'eslint-problems',
    tool: [bin('eslint'), '--version'],
    files: {
      'eslint.config.mjs': `export default [{ rules: { 'no-unused-vars': 'error', eqeqeq: 'error', 'no-var': 'warn' } }];\n`,
      'src/pick.js': `export const pick = (list, name) => {\n  var seen = 0;\n  return list.find((one) => one.name == name);\n};\n`,
    },
    run: [bin('eslint'), 'src'],
    class: 'VERIFICATION_FAILED',
  },
  {
    name: 'eslint-parsing-error',
    tool: [bin('eslint'), '--version'],
    files: {
      'eslint.config.mjs': `export default [];\n`,
      'src/pick.js': `export const pick = (list => list[0];\n`,
    },
    run: [bin('eslint'), 'src'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'prettier-check',
    tool: [bin('prettier'), '--version'],
    files: { 'src/a.js': `const  a={b :1}\n`, 'src/b.js': `const b = 1;\n` },
    run: [bin('prettier'), '--check', 'src'],
    class: 'VERIFICATION_FAILED',
  },
];

const VITEST = [bin('vitest'), '--version'] as const;
const vitestCase = (name: string, files: Case['files'], rest: Partial<Case> = {}): Case => ({
  name,
  tool: VITEST,
  files: { 'package.json': esm, ...files },
  run: [bin('vitest'), 'run', '--no-color', '--configLoader', 'native'],
  class: 'VERIFICATION_FAILED',
  ...rest,
});
const sum = `export const sum = (a, b) => a - b;\n`;
const sumTest = `import { describe, expect, test } from 'vitest';
import { sum } from './sum.js';

describe('sum', () => {
  test('adds two numbers', () => expect(sum(1, 2)).toBe(3));
  test('adds nothing', () => expect(sum(1, 0)).toBe(1));
});
`;

const vitest: readonly Case[] = [
  vitestCase('assertion', { 'sum.js': sum, 'sum.test.js': sumTest }),
  vitestCase(
    'assertion-colours',
    { 'sum.js': sum, 'sum.test.js': sumTest },
    { run: [bin('vitest'), 'run', '--configLoader', 'native'], env: { FORCE_COLOR: '1' } },
  ),
  vitestCase('diff-quotes-a-compiler', {
    'report.test.js': `import { expect, test } from 'vitest';

const report = (lines) => lines.join('\\n');
test('a report ends with the count, not with the error TS2304 line', () => {
  expect(report(['src/a.ts(1,2): error TS2304: Cannot find name', 'Found 1 error.'])).toBe(
    'src/a.ts(1,2): error TS2304: Cannot find name\\nFound 1 error in src/a.ts:1',
  );
});
`,
  }),
  vitestCase('log-quotes-a-compiler', {
    'compile.test.js': `import { expect, test } from 'vitest';

test('the compiler wrapper hands on the exit code', () => {
  console.log("src/index.ts(3,7): error TS2322: Type 'string' is not assignable to type 'number'.");
  console.error('error[E0308]: mismatched types');
  expect(2).toBe(1);
});
`,
  }),
  vitestCase('asserts-on-a-network-error', {
    'client.test.js': `import { expect, test } from 'vitest';

const client = async () => {
  throw new Error('connect ECONNREFUSED 127.0.0.1:5432');
};
test('the client says which host it could not reach', async () => {
  await expect(client()).rejects.toThrow('could not reach db.example: ECONNREFUSED');
});
`,
  }),
  vitestCase(
    'suite-with-syntax-error',
    { 'sum.js': `export const sum = (a, b => a + b;\n`, 'sum.test.js': sumTest },
    { class: 'BROKEN_BUILD' },
  ),
  vitestCase('suite-with-missing-import', { 'sum.test.js': sumTest }, { class: 'BROKEN_BUILD' }),
  vitestCase(
    'missing-package',
    {
      'zip.test.js': `import { zip } from 'no-such-zip';\nimport { test } from 'vitest';\ntest('zips', () => zip());\n`,
    },
    { class: 'BROKEN_BUILD' },
  ),
  vitestCase(
    'broken-suite-and-failed-test',
    { 'sum.js': sum, 'sum.test.js': sumTest, 'other.test.js': `import { x } from './gone.js';\nx();\n` },
    { class: 'BROKEN_BUILD' },
  ),
  vitestCase('timeout', {
    'slow.test.js': `import { test } from 'vitest';\ntest('answers in time', () => new Promise(() => {}), 50);\n`,
  }),
  vitestCase('unhandled-rejection', {
    'late.test.js': `import { expect, test } from 'vitest';
test('fires and forgets', () => {
  void Promise.reject(new Error('getaddrinfo ENOTFOUND db.example'));
  expect(1).toBe(1);
});
`,
  }),
  vitestCase('mentions-a-context-limit', {
    'limit.test.js': `import { expect, test } from 'vitest';

const limit = () => "This model's maximum context length is 8192 tokens (context_length_exceeded)";
test('says that the prompt is too long', () => expect(limit()).toContain('prompt is too long: 9000 tokens > 8192 maximum'));
`,
  }),
  vitestCase('parses-what-is-no-json', {
    'read.test.js': `import { expect, test } from 'vitest';\ntest('reads its settings', () => expect(JSON.parse('{oops').a).toBe(1));\n`,
  }),
];

const testRunners: readonly Case[] = [
  {
    name: 'jest-assertion',
    tool: [bin('jest'), '--version'],
    files: {
      'package.json': '{}',
      'cart.test.js': `test('counts what is in the cart', () => {\n  expect({ count: 2, items: ['a'] }).toEqual({ count: 1, items: ['a'] });\n});\ntest('is empty at first', () => expect([]).toHaveLength(0));\n`,
    },
    run: [bin('jest')],
    class: 'VERIFICATION_FAILED',
  },
  {
    name: 'jest-syntax-error',
    tool: [bin('jest'), '--version'],
    files: {
      'package.json': '{}',
      'cart.js': `exports.cart = () => { return [1, 2;\n};\n`,
      'cart.test.js': `const { cart } = require('./cart');\ntest('x', () => expect(cart()).toEqual([]));\n`,
    },
    run: [bin('jest')],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'jest-missing-module',
    tool: [bin('jest'), '--version'],
    files: {
      'package.json': '{}',
      'cart.test.js': `const { cart } = require('./cart');\ntest('x', () => expect(cart()).toEqual([]));\n`,
    },
    run: [bin('jest')],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'mocha-failure',
    tool: [bin('mocha'), '--version'],
    files: {
      'test/list.spec.cjs': `const assert = require('node:assert');
describe('list', () => {
  it('has a first', () => assert.strictEqual([7][0], 7));
  it('keeps its order', () => assert.deepStrictEqual([2, 1], [1, 2]));
  it('says who refuses', () => assert.throws(() => { throw new Error('connect ECONNREFUSED'); }, /refused by/));
});
`,
    },
    run: [bin('mocha'), 'test/*.cjs'],
    class: 'VERIFICATION_FAILED',
  },
  {
    name: 'mocha-missing-module',
    tool: [bin('mocha'), '--version'],
    files: {
      'test/list.spec.cjs': `const list = require('../src/list');\ndescribe('list', () => list());\n`,
    },
    run: [bin('mocha'), 'test/*.cjs'],
    class: 'BROKEN_BUILD',
  },
  {
    name: 'node-test-spec',
    tool: NODE,
    files: {
      'package.json': esm,
      'stack.test.js': `import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
describe('stack', () => {
  test('pops the last', () => assert.equal([1, 2].pop(), 1));
  test('is empty', () => assert.equal([].length, 0));
});
`,
    },
    run: ['node', '--test', '--test-reporter=spec'],
    class: 'VERIFICATION_FAILED',
  },
  {
    name: 'node-test-tap',
    tool: NODE,
    files: {
      'package.json': esm,
      'stack.test.js': `import assert from 'node:assert/strict';\nimport { test } from 'node:test';\ntest('pops the last', () => assert.equal([1, 2].pop(), 1));\ntest('parses', () => JSON.parse('<'));\n`,
    },
    run: ['node', '--test', '--test-reporter=tap'],
    class: 'VERIFICATION_FAILED',
  },
  {
    name: 'node-test-syntax-error',
    tool: NODE,
    files: {
      'package.json': esm,
      'stack.test.js': `import { test } from 'node:test';\ntest('pops the last', () => {\n  const stack = [1, 2;\n});\n`,
    },
    run: ['node', '--test', '--test-reporter=spec'],
    class: 'BROKEN_BUILD',
  },
];

export const JAVASCRIPT: Cases = { typescript, node, vitest, 'test-runners': testRunners };
