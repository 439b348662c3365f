import { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import { describe, expect, test } from 'vitest';
import { sameApproaches } from './circular.ts';

const PARSE = 'I parse the date with a regular expression and build the ISO string from its groups';
const LIBRARY = 'I add the library luxon and let it read the time zone from the environment';
const tried = (approach: string | undefined, attempt = 1) => ({ attempt, approach });
const all = (...approaches: readonly (string | undefined)[]) =>
  approaches.map((approach, at) => tried(approach, at + 1));
/** The numbers of the attempts that are the same as the last one. */
const numbers = (...args: Parameters<typeof sameApproaches>) =>
  sameApproaches(...args)?.map(({ attempt }) => attempt);

describe('a circular job', () => {
  test('the third attempt with the same approach is circular', () => {
    expect(numbers('VERIFICATION_FAILED', all(PARSE), tried(PARSE, 2))).toBeUndefined();
    expect(numbers('VERIFICATION_FAILED', all(PARSE, PARSE), tried(PARSE, 3))).toEqual([1, 2]);
  });

  test('circular attempts may alternate with others', () => {
    const earlier = all(PARSE, LIBRARY, PARSE, LIBRARY);
    expect(numbers('BROKEN_BUILD', earlier, tried(PARSE, 5))).toEqual([1, 3]);
  });

  test('every earlier attempt with the same approach comes with its approach and similarity', () => {
    const [first, second] = sameApproaches('UNKNOWN', all(PARSE, PARSE), tried(PARSE, 3)) ?? [];
    expect(first).toEqual({ attempt: 1, approach: PARSE, similarity: 1 });
    expect(second).toEqual({ attempt: 2, approach: PARSE, similarity: 1 });
  });

  test('different and unreported approaches are not circular', () => {
    const others = all('I rewrite the module', 'I move the call to the caller', LIBRARY);
    expect(numbers('UNKNOWN', others, tried(PARSE, 4))).toBeUndefined();
    const silent = all(undefined, undefined, undefined);
    expect(numbers('UNKNOWN', silent, tried(undefined))).toBeUndefined();
    expect(numbers('UNKNOWN', silent, tried(PARSE))).toBeUndefined();
    expect(numbers('UNKNOWN', all(' ', ' '), tried(' '))).toBeUndefined();
  });

  test.each([
    [
      'Parse the dates with the moment library instead of by hand.',
      'Parse the dates with the luxon library instead of by hand.',
      'Parse the dates with the date-fns library instead of by hand.',
    ],
    ['Using async/await pattern', 'Using callback pattern', 'Using an event emitter'],
    ['Use redis for the sessions', 'Use memcached for the sessions', 'Use a cookie for the sessions'],
  ])('three libraries or patterns in the same sentence are not circular: %s', (first, second, third) => {
    expect(numbers('VERIFICATION_FAILED', all(first, second), tried(third, 3))).toBeUndefined();
  });

  test.each(FailureClass.options)(
    'failures of class %s are circular only if another approach could help',
    (option) => {
      const found = numbers(option, all(PARSE, PARSE), tried(PARSE, 3));
      const helps = ['BROKEN_BUILD', 'VERIFICATION_FAILED', 'UNKNOWN'].includes(option);
      expect(found).toEqual(helps ? [1, 2] : undefined);
    },
  );

  test('the repository sets the number and similarity of circular attempts', () => {
    expect(numbers('UNKNOWN', all(PARSE), tried(PARSE, 2), { circular: { attempts: 2 } })).toEqual([1]);
    const near = `${PARSE}, and then I also update the documentation and the changelog of the package`;
    const strict = { circular: { attempts: 2, similarity: 1 } };
    expect(numbers('UNKNOWN', all(PARSE), tried(near, 2), strict)).toBeUndefined();
  });
});
