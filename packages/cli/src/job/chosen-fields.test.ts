import { expect, test } from 'vitest';
import { chosenFields } from './chosen-fields.ts';

const record = { job: 't-1/a', status: 'failed', exit_code: '3' };

test('fields are shown in the order of the configuration, with its labels', () => {
  const labels = new Map([['status', 'State']]);
  expect(Object.entries(chosenFields(record, { fields: ['status', 'job'], labels }))).toEqual([
    ['State', 'failed'],
    ['job', 't-1/a'],
  ]);
});

test('fields may be written as people read them', () => {
  const labels = new Map([['Exit code', 'Code']]);
  expect(chosenFields(record, { fields: ['Job', 'Exit Code'], labels })).toEqual({ job: 't-1/a', Code: '3' });
});

test('without fields all of them are shown', () => {
  expect(chosenFields(record, { labels: new Map() })).toEqual(record);
});
