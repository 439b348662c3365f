import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RENAMED_SETTINGS } from '@holdpoint/contracts/values/settings';
import { expect, test } from 'vitest';
import { root } from './folders.ts';

const EXIT_CONFIG = 78;

test.each([
  ['npm start', 'infra/local/start.ts'],
  ['npm run demo', 'infra/local/demo.ts'],
  ['the container that prepares Compose', 'infra/compose/prepare.ts'],
])('%s refuses a former name of a setting with exit 78 and the new name', (_, file) => {
  const env = { PATH: process.env['PATH'], HOLDPOINT_POOL: 'builds', HOLDPOINT_JOURNAL: '' };
  const { status, stderr, stdout } = spawnSync(process.execPath, [join(root, file)], {
    encoding: 'utf8',
    env,
    timeout: 20_000,
  });
  expect({ status, stdout, stderr }).toEqual({
    status: EXIT_CONFIG,
    stdout: '',
    stderr: 'error CONFIG: HOLDPOINT_POOL: renamed to HOLDPOINT_EXECUTOR_POOLS\n',
  });
});

test.each([
  [
    'infra/local/start.ts',
    'nosuch',
    'HOLDPOINT_EXECUTOR_POOLS: nosuch is not in HOLDPOINT_DEPLOYMENT_POOLS, add it there',
  ],
  [
    'infra/local/demo.ts',
    'gpu,nosuch',
    'HOLDPOINT_EXECUTOR_POOLS: nosuch is not in HOLDPOINT_DEPLOYMENT_POOLS, add it there',
  ],
])('%s refuses an executor of the pool %s at once, with exit 78 and its name', (file, pools, problem) => {
  const env = {
    PATH: process.env['PATH'],
    HOLDPOINT_DEPLOYMENT_POOLS: 'default,gpu',
    HOLDPOINT_EXECUTOR_POOLS: pools,
  };
  const { status, stderr } = spawnSync(process.execPath, [join(root, file)], {
    encoding: 'utf8',
    env,
    timeout: 20_000,
  });
  expect({ status, stderr }).toEqual({ status: EXIT_CONFIG, stderr: `error CONFIG: ${problem}\n` });
});

test('Compose hands every former name to the container that refuses it', () => {
  const text = readFileSync(join(root, 'infra/compose/compose.yaml'), 'utf8');
  const missing = Object.keys(RENAMED_SETTINGS).filter((name) => !text.includes(`  ${name}: \${${name}:-}`));
  expect(missing).toEqual([]);
});
