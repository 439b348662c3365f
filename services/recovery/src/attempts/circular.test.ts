import { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import { describe, expect, test } from 'vitest';
import { circularAttempts } from './circular.ts';
import { similarity } from '../classification/similarity.ts';

const PARSE = 'I parse the date with a regular expression and build the ISO string from its groups';
const LIBRARY = 'I add the library luxon and let it read the time zone from the environment';
const tried = (approach: string | undefined, fingerprint = 'one') => ({ approach, fingerprint });

describe('a circular job', () => {
  test('the third attempt with the same approach is circular', () => {
    expect(circularAttempts('VERIFICATION_FAILED', [tried(PARSE)], tried(PARSE))).toBeUndefined();
    expect(circularAttempts('VERIFICATION_FAILED', [tried(PARSE), tried(PARSE)], tried(PARSE))).toBe(3);
  });

  test('circular attempts may alternate with others and fail differently', () => {
    const earlier = [tried(PARSE), tried(LIBRARY), tried(PARSE, 'two'), tried(LIBRARY)];
    expect(circularAttempts('BROKEN_BUILD', earlier, tried(PARSE, 'three'))).toBe(3);
  });

  test('different and unreported approaches are not circular', () => {
    const others = ['I rewrite the module', 'I move the call to the caller', LIBRARY];
    expect(
      circularAttempts(
        'UNKNOWN',
        others.map((each) => tried(each)),
        tried(PARSE),
      ),
    ).toBeUndefined();
    const silent = [tried(undefined), tried(undefined), tried(undefined)];
    expect(circularAttempts('UNKNOWN', silent, tried(undefined))).toBeUndefined();
    expect(circularAttempts('UNKNOWN', silent, tried(PARSE))).toBeUndefined();
    expect(circularAttempts('UNKNOWN', [tried(' '), tried(' ')], tried(' '))).toBeUndefined();
  });

  test.each(FailureClass.options)(
    'failures of class %s are circular only if another approach could help',
    (option) => {
      const found = circularAttempts(option, [tried(PARSE), tried(PARSE)], tried(PARSE));
      const helps = ['BROKEN_BUILD', 'VERIFICATION_FAILED', 'UNKNOWN'].includes(option);
      expect(found).toBe(helps ? 3 : undefined);
    },
  );

  test('the repository sets the number and similarity of circular attempts', () => {
    const twice = [tried(PARSE)];
    expect(circularAttempts('UNKNOWN', twice, tried(PARSE), { circular: { attempts: 2 } })).toBe(2);
    const near = `${PARSE}, and then I also update the documentation and the changelog of the package`;
    const strict = { circular: { attempts: 2, similarity: 1 } };
    expect(circularAttempts('UNKNOWN', twice, tried(near, 'two'), strict)).toBeUndefined();
  });

  test('the same error lowers the required similarity', () => {
    const other = 'I parse the date with a regular expression, then convert it';
    // Slightly more than their similarity.
    const rules = { circular: { attempts: 2, similarity: similarity(PARSE, other) / 0.85 } };
    const same = circularAttempts('UNKNOWN', [tried(PARSE, 'one')], tried(other, 'one'), rules);
    const different = circularAttempts('UNKNOWN', [tried(PARSE, 'one')], tried(other, 'two'), rules);
    expect([same, different]).toEqual([2, undefined]);
  });
});
