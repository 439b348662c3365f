import { expect, test } from 'vitest';
import { readSource } from '../repo/source-tree.ts';
import { GENERATE_COMMAND, settings, SETTINGS_FILE, settingsReference } from './settings.ts';

test('the reference of settings that is checked in is what the services declare', () => {
  expect(readSource(SETTINGS_FILE), `run ${GENERATE_COMMAND}`).toBe(settingsReference());
});

test('every setting says what it means', () => {
  const all = [...settings().values()].flat();
  expect(all.filter(({ meaning }) => meaning === undefined)).toEqual([]);
  expect(all.map(({ name }) => name)).toContain('HOLDPOINT_PRINCIPALS_FILE');
});

test.each([
  ['has to be set', 'HOLDPOINT_NATS_URL', undefined],
  ['may be left out', 'HOLDPOINT_AGENT', ''],
  ['has a value of its own', 'HOLDPOINT_BATCH_MAX', '500'],
  ['is a list', 'HOLDPOINT_POOL', 'default'],
  ['is read from a text', 'HOLDPOINT_STREAM_REPLICAS', '1'],
  ['is nothing when it is empty', 'HOLDPOINT_DISCORD_API', 'https://discord.com/api/v10'],
])('of a setting that %s it is shown', (_, name, otherwise) => {
  const found = [...settings().values()].flat().find((each) => each.name === name);
  expect(found?.otherwise).toBe(otherwise);
});
