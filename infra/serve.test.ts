import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { CORE_SERVICES, SERVICES } from '@holdpoint/contracts/bus/subjects';
import { expect, test } from 'vitest';
import { servicesIn } from './serve.ts';

test.each([
  ['approvals', ['approvals']],
  ['recovery,orchestrator', ['orchestrator', 'recovery']],
  [' executor , core ', SERVICES],
  ['core', CORE_SERVICES],
  ['core,approvals,core', CORE_SERVICES],
  ['all', SERVICES],
])('%j names its services once each, in one order', (text, services) => {
  expect(servicesIn(text)).toEqual(services);
});

const WRONG = ['', ' ', 'core,', 'Core', 'approval', 'core executor', 'core;executor', 'constructor'];

test.each(WRONG)('%j names no services', (text) => {
  expect(servicesIn(text)).toBeUndefined();
});

test.each(['', 'core,approval', undefined])('a process for %j ends with 78 and one line', (text) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(import.meta.dirname, 'serve.ts')], {
    env: { PATH: process.env['PATH'], ...(text !== undefined && { HOLDPOINT_SERVICES: text }) },
    encoding: 'utf8',
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 78,
    stdout: '',
    stderr:
      'HOLDPOINT_SERVICES: expected names out of orchestrator, approvals, executor, recovery, core, all, comma-separated\n',
  });
});
