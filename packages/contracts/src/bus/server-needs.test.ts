import { expect, test } from 'vitest';
import { ACCOUNT_NEEDS, accountProblem, serverProblem, unansweredProblem } from './server-needs.ts';
import { PAYLOAD_MAX_BYTES, streams } from './streams.ts';

const ENOUGH = 2 * PAYLOAD_MAX_BYTES;

test.each([
  ['2.9.10', ENOUGH, 'BUS_SERVER_TOO_OLD'],
  ['2.10.29', ENOUGH, 'BUS_SERVER_TOO_OLD'],
  ['', ENOUGH, 'BUS_SERVER_TOO_OLD'],
  ['2.11.0', ENOUGH, undefined],
  ['2.12.0-preview.1', ENOUGH, undefined],
  ['3.0.0', ENOUGH, undefined],
  ['2.15.0', PAYLOAD_MAX_BYTES, 'BUS_LIMITS_TOO_LOW'],
])('NATS %j that takes messages of %d bytes has the problem %j', (version, maxPayload, code) => {
  expect(serverProblem(version, maxPayload)?.code).toBe(code);
});

test('an account without JetStream is a fault of its import outside the account of the streams', () => {
  expect(accountProblem(10_039, 'topology')?.code).toBe('BUS_JETSTREAM_MISSING');
  expect(accountProblem(10_039, 'orchestrator')?.code).toBe('BUS_JETSTREAM_MISSING');
  expect(accountProblem(10_039, 'approvals')?.code).toBe('BUS_IMPORT_MISSING');
});

test('an error that may pass has no remedy', () => {
  expect(accountProblem(10_008, 'topology')).toBeUndefined();
  expect(accountProblem(10_059, 'topology')).toBeUndefined();
});

test('silence is a fault of the server without JetStream, and of the account with it', () => {
  expect(unansweredProblem('approvals', false).code).toBe('BUS_JETSTREAM_MISSING');
  expect(unansweredProblem('approvals', true).code).toBe('BUS_IMPORT_MISSING');
});

test('the storage of the account is enough for all streams', () => {
  const reserved = streams.reduce((sum, { maxBytes }) => sum + maxBytes, 0);
  expect(ACCOUNT_NEEDS.diskMib * 1024 * 1024).toBeGreaterThan(reserved);
  expect(ACCOUNT_NEEDS.streams).toBeGreaterThanOrEqual(streams.length);
});

test.each([10_076, 10_039, 10_047, 10_027, 10_026])(
  'the remedy for the error %d fits into one line',
  (code) => {
    for (const user of ['topology', 'orchestrator', 'approvals'])
      expect(accountProblem(code, user)?.message.length).toBeLessThanOrEqual(90);
  },
);
