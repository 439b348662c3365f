import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inline, jsonBlock, quoted } from './text.ts';

/** As Discord renders it: a backslash before punctuation is invisible. */
const rendered = (text: string): string => text.replaceAll(/\\([^0-9A-Za-z\s])/g, '$1');
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u;
const NOTE = ' … (cut)';

describe('untrusted text', () => {
  test.each([
    ['plain words, 3.5 and a/b', 'plain words, 3.5 and a/b'],
    [
      '**bold** _it_ ~~no~~ ||spoiler|| `code`',
      '\\*\\*bold\\*\\* \\_it\\_ \\~\\~no\\~\\~ \\|\\|spoiler\\|\\| \\`code\\`',
    ],
    ['@everyone <@1> <#2> <t:0:R>', '\\@everyone \\<\\@1\\> \\<\\#2\\> \\<t\\:0\\:R\\>'],
    ['[safe](https://evil.example)', '\\[safe\\]\\(https\\://evil.example\\)'],
    ['a\\*b', 'a\\\\\\*b'],
    ['- a', '\\- a'],
    ['12. a', '12\\. a'],
    ['# a', '\\# a'],
  ])('the text %j is shown literally', (text, shown) => {
    expect(inline(text, 200)).toBe(shown);
    expect(rendered(shown)).toBe(text);
  });

  test.each([
    ['\u202egnp.exe', '\\u{202e}gnp.exe'],
    ['a\u200bb\u2060\ufeff', 'a\\u{200b}b\\u{2060}\\u{feff}'],
    ['a\nb\r\t\u0000', 'a\\u{a}b\\u{d}\\u{9}\\u{0}'],
    ['a\u00a0b\u3000c\u2800', 'a\\u{a0}b\\u{3000}c\\u{2800}'],
    ['\ud800x', '\\u{d800}x'],
    ['\u{e0041}\u115f', '\\u{e0041}\\u{115f}'],
    [' ', '\\u{20}'],
    ['', '(empty)'],
  ])('the text %j has its invisible characters escaped', (text, shown) => {
    expect(rendered(inline(text, 200))).toBe(shown);
  });

  test('text is cut at the limit, never inside an escape', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 20, max: 60 }), (text, max) => {
        for (const shown of [inline(text, max, NOTE), quoted(text, max, NOTE)]) {
          expect(shown.length).toBeLessThanOrEqual(max);
          expect(shown.replaceAll('\n', '')).not.toMatch(UNSEEN);
          const head = shown.endsWith(NOTE) ? shown.slice(0, -NOTE.length) : shown;
          expect(head.replaceAll(/\\./gu, '')).not.toContain('\\');
        }
      }),
    );
  });

  test('each line of a long text is quoted', () => {
    expect(quoted('one\r\n```\n> two\n1. x', 200, NOTE)).toBe('> one\n> \\`\\`\\`\n> \\> two\n> 1\\. x');
  });

  test('cut text has a note', () => {
    expect(inline('x'.repeat(100), 30, NOTE)).toBe(`${'x'.repeat(21)}${NOTE}`);
    expect(inline('x'.repeat(29), 30, NOTE)).toBe('x'.repeat(29));
    expect(quoted('ab\n'.repeat(50), 30, NOTE)).toMatch(/^> ab\n> ab[^]* … \(cut\)$/);
  });
});

describe('arguments', () => {
  test('arguments are a JSON block that their content cannot end', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const block = jsonBlock(value, 100_000, NOTE);
        const inside = block.slice('```json\n'.length, -'\n```'.length);
        expect(inside).not.toContain('`');
        expect(inside.replaceAll('\n', '')).not.toMatch(UNSEEN);
        expect(JSON.parse(inside)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });

  test('long arguments are cut inside the block with a note after it', () => {
    const block = jsonBlock({ text: '```@everyone'.repeat(100) }, 200, NOTE);
    expect(block.length).toBeLessThanOrEqual(200);
    expect(block).toMatch(/^```json\n[^`]*\n``` … \(cut\)$/);
  });
});
