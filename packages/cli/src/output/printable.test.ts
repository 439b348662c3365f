import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { printable, printableJson, printableLines } from './printable.ts';

describe('printable text', () => {
  test.each([
    ['a colour', '\u001b[31mred\u001b[0m', '\\u{1b}[31mred\\u{1b}[0m'],
    ['a title of the window', '\u001b]0;owned\u0007', '\\u{1b}]0;owned\\u{7}'],
    ['a control of eight bits', '\u009b2J', '\\u{9b}2J'],
    ['a carriage return that overwrites', 'reject\rapprove', 'reject\\u{d}approve'],
    ['a line that is not there', 'a\nerror: b', 'a\\u{a}error: b'],
    ['a line separator', 'a\u2028b', 'a\\u{2028}b'],
    ['a backspace', 'a\bb', 'a\\u{8}b'],
    ['text turned around', 'file\u202etxt.exe', 'file\\u{202e}txt.exe'],
    ['an isolate', '\u2066a\u2069', '\\u{2066}a\\u{2069}'],
    ['a mark of direction', 'a\u200fb\u061c', 'a\\u{200f}b\\u{61c}'],
    ['a space without width', 'pay\u200bpal', 'pay\\u{200b}pal'],
    ['a filler', 'a\u3164b', 'a\\u{3164}b'],
    ['a tag character', 'a\u{e0041}b', 'a\\u{e0041}b'],
    ['half a character', 'a\ud800b', 'a\\u{d800}b'],
  ])('printable escapes %s', (_, text, shown) => {
    expect(printable(text)).toBe(shown);
  });

  test.each(['plain', 'Grüße, Жук, 日本語', '😀 👍🏽', 'quotes \' and " and \\', ''])(
    'printable keeps %j',
    (text) => {
      expect(printable(text)).toBe(text);
    },
  );

  test('printable text contains no control characters, and is stable', () => {
    const text = fc.string({
      unit: fc.oneof(
        fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
        fc.constantFrom('\u001b', '\u202e', '\ud800'),
      ),
    });
    fc.assert(
      fc.property(text, (value) => {
        const shown = printable(value);
        expect(shown).not.toMatch(/[\p{Cc}\p{Cs}\p{Bidi_Control}\u2028\u2029]/u);
        expect(printable(shown)).toBe(shown);
      }),
    );
  });

  test('printable keeps the lines of a text', () => {
    expect(printableLines('a\nb\r\nc\rd\u001b')).toEqual(['a', 'b', 'c\\u{d}d\\u{1b}']);
  });
});

describe('printable JSON', () => {
  test('printable JSON parses to the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = printableJson(value);
        expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
        expect(text).not.toMatch(/[\p{Cc}\p{Cs}\p{Bidi_Control}]/u);
      }),
    );
    expect(printableJson({ a: '\u202e\u009b\u{e0041}' })).toBe('{"a":"\\u202e\\u009b\\udb40\\udc41"}');
  });
});
