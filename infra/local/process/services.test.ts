import { expect, test } from 'vitest';
import { serviceEnvironment } from './services.ts';
import type { ServiceContext } from './services.ts';

const context: ServiceContext = {
  root: '/holdpoint',
  natsUrl: 'nats://127.0.0.1:4222',
  database: { host: '127.0.0.1', port: 5432, name: 'holdpoint' },
  credentialsDir: '/data/credentials',
  workspace: '/data/workspace',
  state: '/data/state',
  repositories: '/srv/repositories',
  httpPort: 0,
};

test('only the executor gets the repositories and the state folder', () => {
  expect(serviceEnvironment('executor', context, {})).toMatchObject({
    HOLDPOINT_REPOSITORIES: '/srv/repositories',
    HOLDPOINT_STATE_DIR: '/data/state',
  });
  const other = Object.keys(serviceEnvironment('orchestrator', context, {}));
  expect(other.filter((name) => /REPOSITORIES|STATE/.test(name))).toEqual([]);
});

test('work does not see the folders of the start', () => {
  const hidden = ['/data', '/elsewhere'];
  expect(serviceEnvironment('executor', { ...context, hidden }, {})).toMatchObject({
    HOLDPOINT_WORK_HIDDEN: '/data:/elsewhere',
  });
  expect(serviceEnvironment('recovery', { ...context, hidden }, {})).not.toHaveProperty(
    'HOLDPOINT_WORK_HIDDEN',
  );
});

test('settings for agents and processes are passed on, but no folders of another Holdpoint', () => {
  const said = { HOLDPOINT_AGENT: '["agent"]', HOLDPOINT_PROCESS_ENV: 'MODEL_KEY', MODEL_KEY: 'key' };
  const env = { ...said, HOLDPOINT_REPOSITORIES: '/elsewhere', HOLDPOINT_STATE_DIR: '/elsewhere' };
  expect(serviceEnvironment('executor', context, env)).toMatchObject({
    ...said,
    HOLDPOINT_REPOSITORIES: '/srv/repositories',
    HOLDPOINT_STATE_DIR: '/data/state',
  });
  const { repositories: _, state: __, ...bare } = context;
  expect(serviceEnvironment('executor', bare, env)).not.toHaveProperty('HOLDPOINT_REPOSITORIES');
});
