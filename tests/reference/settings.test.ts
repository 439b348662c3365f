import { expect, test } from 'vitest';
import { readSource } from '../repo/source-tree.ts';
import { CHART_SCHEMA_FILE, chartSchema } from './chart-values.ts';
import { GENERATE_COMMAND, settings, SETTINGS_FILE, settingsReference } from './settings.ts';

test('the checked-in settings reference matches the declarations of the services', () => {
  expect(readSource(SETTINGS_FILE), `run ${GENERATE_COMMAND}`).toBe(settingsReference());
});

test('the checked-in schema of the chart matches the declarations of the services', () => {
  expect(readSource(CHART_SCHEMA_FILE), `run ${GENERATE_COMMAND}`).toBe(chartSchema());
});

test('every setting has a description', () => {
  const all = [...settings().values()].flat();
  expect(all.filter(({ meaning }) => meaning === undefined)).toEqual([]);
  expect(all.map(({ name }) => name)).toContain('HOLDPOINT_PRINCIPALS_FILE');
});

test('at most 45 settings are public, and the names of settings for tests say so', () => {
  const all = [...settings().values()].flat();
  expect(all.filter(({ use }) => use === 'public').length).toBeLessThanOrEqual(45);
  const forTests = all.filter(({ use }) => use === 'tests').map(({ name }) => name);
  expect(forTests.length).toBeGreaterThan(0);
  expect(forTests.filter((name) => !name.startsWith('HOLDPOINT_TEST_'))).toEqual([]);
});

test.each([
  ['is required', 'HOLDPOINT_NATS_URL', undefined],
  ['is optional', 'HOLDPOINT_AGENT', ''],
  ['has a default', 'HOLDPOINT_BATCH_MAX', '500'],
  ['is a list', 'HOLDPOINT_EXECUTOR_POOLS', 'default'],
  ['is parsed from text', 'HOLDPOINT_STREAM_REPLICAS', '1'],
  ['treats an empty value as unset', 'HOLDPOINT_TEST_DISCORD_API', 'https://discord.com/api/v10'],
])('the reference shows the default of a setting that %s', (_, name, otherwise) => {
  const found = [...settings().values()].flat().find((each) => each.name === name);
  expect(found?.otherwise).toBe(otherwise);
});
