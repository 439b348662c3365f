import { TaskId } from '@holdpoint/contracts/values/ids';
import { InvalidArgumentError } from 'commander';
import { describe, expect, test } from 'vitest';
import { as, collect, collectInput, moment, wholeNumber } from './arguments.ts';

describe('inputs', () => {
  const all = (...texts: readonly string[]) =>
    texts.reduce<ReturnType<typeof collectInput> | undefined>(
      (before, text) => collectInput(text, before),
      undefined,
    );

  test.each([
    [['a=b'], { a: 'b' }],
    [['a=1'], { a: '1' }],
    [['a='], { a: '' }],
    [['a=b=c'], { a: 'b=c' }],
    [['a=x:=y'], { a: 'x:=y' }],
    [['a:=1', 'b:={"c":[true,null]}'], { a: 1, b: { c: [true, null] } }],
    [['a=two\nlines'], { a: 'two\nlines' }],
  ])('the inputs %j are parsed', (texts, inputs) => {
    expect(all(...texts)).toEqual(inputs);
  });

  test.each([[['a']], [['=b']], [[':=1']], [['a:=one']], [['a=1', 'a=2']]])(
    'the inputs %j are refused',
    (texts) => {
      expect(() => all(...texts)).toThrow(InvalidArgumentError);
    },
  );

  test('a key called __proto__ is an ordinary key', () => {
    expect(JSON.stringify(all('__proto__=x'))).toBe('{"__proto__":"x"}');
  });
});

test('a schema violation is a usage error', () => {
  expect(as(TaskId)('t-1')).toBe('t-1');
  expect(() => as(TaskId)('t.1')).toThrow(InvalidArgumentError);
});

test('a number is whole and within bounds', () => {
  expect(wholeNumber(500)('20')).toBe(20);
  for (const text of ['0', '501', '-1', '1.5', '1e2', '', 'x', ' 1'])
    expect(() => wholeNumber(500)(text)).toThrow(InvalidArgumentError);
});

test.each([
  ['2026-01-15', Date.UTC(2026, 0, 15)],
  ['2026-01-15T09:30Z', Date.UTC(2026, 0, 15, 9, 30)],
  ['2026-01-15 09:30:05Z', Date.UTC(2026, 0, 15, 9, 30, 5)],
  ['2026-01-15T09:30:00.250+02:00', Date.UTC(2026, 0, 15, 7, 30, 0, 250)],
])('%s is parsed to the same time on every machine', (text, at) => {
  expect(moment(text)).toBe(at);
});

test.each(['', '2026', '2026-13-01', '2026-01-15T09:30', '15.1.2026', '1969-12-31', 'today'])(
  '%j is not a time',
  (text) => {
    expect(() => moment(text)).toThrow(InvalidArgumentError);
  },
);

test('repeated options keep their order', () => {
  expect(collect('b', collect('a'))).toEqual(['a', 'b']);
});
