import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fingerprintOf, normalized } from './fingerprint.ts';

const error = { code: 'NODE_FAILED', message: 'the program ended with exit code 1' };
const of = (output: string, more: Partial<typeof error> = {}): string =>
  fingerprintOf({ error: { ...error, ...more }, output });

describe('normalized text', () => {
  test.each([
    ['numbers', 'expected 12 to be 3.5', 'expected <n> to be <n>'],
    ['memory addresses', 'at 0x7ffd3a2b (0xDEAD)', 'at <n> (<n>)'],
    ['commit ids', 'commit 3fa9b2c1d and deadbeefcafe', 'commit <n> and <n>'],
    ['UUIDs', 'run 550e8400-e29b-41d4-a716-446655440000', 'run <id>'],
    ['times', 'at 2026-11-22T11:20:27.527Z, 11:20:27 PM, 2026/11/22', 'at <time>, <time>, <time>'],
    ['durations', 'in 1.2s, 30ms, 3 seconds, 1m 2s', 'in <time>, <time>, <time>, <time>'],
    ['folders', '/src/project/lib/a.ts and ../b/c.rs', '<dir>a.ts and <dir>c.rs'],
    ['Windows folders', String.raw`C:\src\project\a.ts(3,7): no`, '<dir>a.ts(<n>): no'],
    ['positions in files', 'a.ts:12:5 and a.ts(12,5)', 'a.ts:<n>:<n> and a.ts(<n>)'],
    ['addresses', 'GET http://127.0.0.1:4873/x failed', 'GET <url> failed'],
    ['temporary names', 'tmpab12cd_x, tmp-3fa9, temp_x9y8', '<temporary>, <temporary>, <temporary>'],
    ['colours', '\u001B[31mred\u001B[0m', 'red'],
  ])('%s', (_, text, left) => {
    expect(normalized(text)).toBe(left);
  });

  test('error codes and names with digits are kept', () => {
    expect(normalized('error TS2322 and E0308 in utf8 of sha256')).toBe(
      'error TS2322 and E0308 in utf8 of sha256',
    );
  });

  test('normalizing twice changes nothing', () => {
    const part = fc.constantFrom(
      '12',
      '.',
      ':',
      '/',
      '\\',
      'src',
      'a.ts',
      ' ',
      '\t',
      '0x',
      'ff',
      '-',
      '+',
      'tmp',
      'ms',
      'T',
      'Z',
      '2026-11-22',
      '11:20:27',
      '<n>',
      '<dir>',
      'http://',
      'C:',
      '\u001B[',
      'm',
      '\r',
      '\n',
      '\u0000',
      'é',
      '@',
      '~',
      '=',
      ',',
      '5s',
      'PM',
    );
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(part, { maxLength: 20 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(text, (one) => {
        expect(normalized(normalized(one))).toBe(normalized(one));
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('a fingerprint', () => {
  const vitest = (folder: string, ms: number, port: number): string =>
    `started at ${String(ms)}\n RUN  v5.1.1 ${folder}\n FAIL  ${folder}/a.test.ts > adds\nAssertionError: expected ${String(port)} to be 80\n      Tests  1 failed | ${String(ms)} passed (9)\n   Duration  ${String(ms)}ms`;

  test('a fingerprint has sixteen hexadecimal digits', () => {
    expect(of('')).toMatch(/^[0-9a-f]{16}$/);
    expect(fingerprintOf({ error })).toBe(of(''));
  });

  test('time and folder do not change a fingerprint', () => {
    expect(of(vitest('/src/one', 300, 4_000))).toBe(of(vitest('/src/other/tree', 1_200, 4_001)));
  });

  test('other lines and the order of tests do not change a fingerprint', () => {
    const log = 'downloading left-pad\n';
    expect(of(`${log}--- FAIL: TestA (0.00s)\n--- FAIL: TestB (0.01s)\nFAIL`)).toBe(
      of('--- FAIL: TestB (0.10s)\n--- FAIL: TestA (0.00s)\nFAIL'),
    );
  });

  test.each([
    ['another test', '--- FAIL: TestA (0.00s)', '--- FAIL: TestB (0.00s)'],
    ['another error of the compiler', 'a.ts(1,2): error TS2322: x', 'a.ts(1,2): error TS2304: x'],
    ['another file', 'a.ts(1,2): error TS2322: x', 'b.ts(1,2): error TS2322: x'],
    ['another word', 'the database is locked', 'the database is gone'],
  ])('a fingerprint changes with %s', (_, one, other) => {
    expect(of(one)).not.toBe(of(other));
  });

  test('a fingerprint changes with the error', () => {
    expect(of('x')).not.toBe(of('x', { code: 'NODE_BLOCKED' }));
    expect(of('x')).not.toBe(of('x', { message: 'the program was not found' }));
  });

  test('unknown output is fingerprinted by its lines about errors', () => {
    expect(of('step 1\nError: widget 3 is upside down\ncleaning')).toBe(
      of('Error: widget 4 is upside down\ndone at once'),
    );
  });

  test('any input has a fingerprint', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.string({ unit: 'binary', maxLength: 500 }),
        (message, output) => {
          expect(of(output, { message })).toMatch(/^[0-9a-f]{16}$/);
        },
      ),
    );
  });
});
