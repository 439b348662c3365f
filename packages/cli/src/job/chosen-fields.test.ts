import { expect, test } from 'vitest';
import { chosenFields } from './chosen-fields.ts';

const record = { job: 't-1/a', status: 'failed', exit_code: '3' };

test('fields follow the order and labels of the configuration', () => {
  const labels = new Map([['status', 'State']]);
  expect(Object.entries(chosenFields(record, { fields: ['status', 'job'], labels }))).toEqual([
    ['State', 'failed'],
    ['job', 't-1/a'],
  ]);
});

test('fields may be written as labels', () => {
  const labels = new Map([['Exit code', 'Code']]);
  expect(chosenFields(record, { fields: ['Job', 'Exit Code'], labels })).toEqual({ job: 't-1/a', Code: '3' });
});

test('all fields are shown by default', () => {
  expect(chosenFields(record, { labels: new Map() })).toEqual(record);
});
