import { spawnSync } from 'node:child_process';
import { join, relative } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './folders.ts';

/** Prints the modules that a start loads before its first step. */
const LIST = `
import { registerHooks } from 'node:module';
const loaded = [];
registerHooks({ load: (url, context, next) => { loaded.push(url); return next(url, context); } });
await import(process.argv[1]);
console.log(JSON.stringify(loaded));
`;

test('the process that supervises the services loads no library and few files of the packages', () => {
  const words = ['--input-type=module', '--eval', LIST, join(root, 'infra', 'local', 'start.ts')];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  expect(stderr).toBe('');
  const modules = JSON.parse(stdout) as readonly string[];
  expect(modules).toContain('node:net');
  expect(modules).not.toContain('node:http');
  const files = modules
    .filter((url) => url.startsWith('file:'))
    .map((url) => relative(root, new URL(url).pathname));
  expect(files).toContain('infra/local/process/supervisor.ts');
  expect(files.filter((file) => !/^infra\/(local|credentials)\//.test(file)).toSorted()).toEqual([
    'packages/cli/src/bus/running-pointer.ts',
    'packages/cli/src/kit/sinks.ts',
    'packages/cli/src/kit/usage-error.ts',
    'packages/contracts/src/bus/subjects.ts',
    'packages/contracts/src/values/settings.ts',
  ]);
  expect(files.filter((file) => /infra\/local\/(steps|greet|operator)\.ts/.test(file))).toEqual([]);
});
