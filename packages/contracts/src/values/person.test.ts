import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isPlainName, isSamePerson, isUnverified, normalName, PersonName, unverifiedName } from './person.ts';

describe('the normal form of a name', () => {
  test.each([
    ['Ada', 'ada'],
    ['ada ', 'ada'],
    ['ZOE\u0301', 'zoé'],
    ['Eve Müller', 'eve müller'],
    ['ada@example.org', 'ada@example.org'],
    ["O'Neill-Smith+ops", "o'neill-smith+ops"],
    ['\u212Aarl', 'karl'],
  ])('%j becomes %j', (given, normal) => {
    expect(PersonName.parse(given)).toBe(normal);
  });

  test.each([
    ['', 'an empty name'],
    [' ', 'a space'],
    ['ada\u200b', 'a zero-width space'],
    ['ada\u00ad', 'a soft hyphen'],
    ['\u0430da', 'a Cyrillic letter'],
    ['\uff41da', 'a full-width letter'],
    ['ad\u0251', 'a phonetic letter'],
    ['\u0131da', 'a letter i without its dot'],
    ['user:ada', 'the prefix of a person in an audience'],
    ['oidc:ada', 'the prefix of an OIDC subject'],
    ['unverified:ada', 'the prefix of an unverified name'],
    ['ada\u00a0lovelace', 'a space that does not break'],
    ['ada  lovelace', 'two spaces'],
    ['ada\u0332', 'a combining line'],
    ['\u202eada', 'a change of direction'],
    ['ada\nlovelace', 'a line break'],
  ])('%j is refused: %s', (given) => {
    expect(PersonName.safeParse(given).success).toBe(false);
    expect(unverifiedName(given)).toBe('unverified:unknown');
  });

  test('the normal form of a normal form is the same, for every text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        expect(normalName(normalName(text))).toBe(normalName(text));
      }),
    );
  });

  test('two accepted names that look alike without case are the same person', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 12 }), (text) => {
        const name = PersonName.safeParse(text);
        if (!name.success) return;
        expect(name.data.normalize('NFKC')).toBe(name.data);
        expect(isSamePerson(text.toUpperCase(), name.data) || text.toUpperCase().includes('SS')).toBe(true);
      }),
    );
  });

  test('no accepted name contains an invisible character or one with a meaning in audiences', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii', maxLength: 8 }), (text) => {
        fc.pre(isPlainName(text));
        expect(normalName(text)).not.toMatch(/[\p{C}\p{Zl}\p{Zp}\p{M}:,]/u);
      }),
    );
  });
});

describe('an unverified name', () => {
  test('it keeps the given name in its normal form', () => {
    expect(unverifiedName('Ada ')).toBe('unverified:ada');
    expect(unverifiedName(undefined)).toBe('unverified:unknown');
  });

  test('every name without proof is recognised, and no accepted name is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 20 }), (text) => {
        expect(isUnverified(unverifiedName(text))).toBe(true);
        expect(isPlainName(text) && isUnverified(text)).toBe(false);
      }),
    );
  });

  test.each(['Ada', 'ada ', 'ada\u200b', '\u0430da', 'user:ada', 'oidc:ada', 'bob', undefined])(
    '%j without proof is not ada',
    (given) => {
      expect(isSamePerson(unverifiedName(given), 'ada')).toBe(false);
    },
  );
});
