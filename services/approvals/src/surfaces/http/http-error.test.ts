import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { expect, test } from 'vitest';
import { recordedLog } from '@holdpoint/runtime/testing/recorded-log';
import { httpErrorOf } from './http-error.ts';

test.each([
  ['a fault of the program', new TypeError('no such event'), 500, 'RUNTIME_POISON'],
  [
    'a decision that failed for a fault of the program',
    new HoldpointError('RUNTIME_POISON', 'could not be handled', { cause: new TypeError('no such event') }),
    500,
    'RUNTIME_POISON',
  ],
  ['a store that is away', new Error('timeout exceeded when trying to connect'), 503, 'RUNTIME_UNAVAILABLE'],
])('%s leaves its cause in the log alone', (_what, error, status, code) => {
  const { log, lines } = recordedLog();
  const answer = httpErrorOf(error, log);
  expect(answer).toMatchObject({ status, body: { code } });
  expect(lines).toHaveLength(1);
  expect(JSON.stringify(lines)).toMatch(/no such event|timeout exceeded/);
  expect(JSON.stringify(answer)).not.toMatch(/no such event|timeout exceeded/);
});
