import { expect, test } from 'vitest';
import { createRedaction } from './redact.ts';

const redact = createRedaction(['open-sesame-42\n', 'short', '', '8-secret']);

test.each([
  ['token hpt_AbCdEf0123456789-_xyz, twice hpt_AbCdEf0123456789-_xyz', 'token [hidden], twice [hidden]'],
  [`seed SU${'A2'.repeat(28)} of a bus user`, 'seed [hidden] of a bus user'],
  ['postgres://hp:open-sesame-42@db', 'postgres://hp:[hidden]@db'],
  ['8-secret', '[hidden]'],
  ['8-secre', '8-secre'],
  ['hpt_ and a short SUMMARY stay', 'hpt_ and a short SUMMARY stay'],
])('redaction shows %j as %j', (line, shown) => {
  expect(redact(line)).toBe(shown);
});

test('without own secrets only texts that look like secrets are redacted', () => {
  expect(createRedaction([])('plain text')).toBe('plain text');
});
