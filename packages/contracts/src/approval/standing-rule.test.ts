import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../values/json.ts';
import { fits, isForRules, matches, RuleMatch, RuleSpec, type RuleSubject } from './standing-rule.ts';
import { SideEffectKind } from '../workflow/side-effect.ts';

/** Reference implementation of `*`: tries every possible substitution. */
const fitsNaively = (pattern: string, text: string): boolean => {
  if (pattern === '') return text === '';
  const [head, rest] = [pattern.charAt(0), pattern.slice(1)];
  if (head !== '*') return text.charAt(0) === head && text !== '' && fitsNaively(rest, text.slice(1));
  return Array.from({ length: text.length + 1 }, (_, skipped) => skipped).some((skipped) =>
    fitsNaively(rest, text.slice(skipped)),
  );
};

describe('a pattern', () => {
  const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 9 });
  const pattern = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), minLength: 1, maxLength: 7 });

  test('a pattern matches exactly the texts that its stars can fill', () => {
    fc.assert(
      fc.property(pattern, letters, (stars, text) => {
        expect(fits(stars, text)).toBe(fitsNaively(stars, text));
      }),
      { numRuns: 5_000 },
    );
  });

  test('a pattern matches every filling of its stars', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(letters, letters), { minLength: 1 }), letters, (parts, end) => {
        const stars = `${parts.map(([part]) => `${part}*`).join('')}${end}`;
        const text = `${parts.map(([part, filled]) => part + filled).join('')}${end}`;
        expect(fits(stars, text)).toBe(true);
      }),
    );
  });

  test('all other characters of a pattern are literal', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (one, other) => {
        const plain = one.replaceAll('*', '');
        expect(fits(plain, other)).toBe(plain === other);
      }),
    );
    for (const text of ['a.c', 'a+c', '[abc]', 'a|b', '^a$', '(a)', 'a\\c', '${a}'])
      expect([fits(text, text), fits(text, 'abc'), fits(text, 'a')]).toEqual([true, false, false]);
  });

  test.each([
    ['ab*ba', 'aba', false],
    ['ab*ba', 'abba', true],
    ['a*a', 'a', false],
    ['*', '', true],
    ['**', '', true],
    ['*a*', '', false],
    ['*aa*aa*', 'aaa', false],
    ['*aa*aa*', 'aaaa', true],
  ])('%s fits %j: %s, for nothing is used twice', (stars, text, expected) => {
    expect(fits(stars, text)).toBe(expected);
  });

  test('a pattern with many stars is fast on a near match', () => {
    expect(fits(`${'a*'.repeat(250)}b`, 'a'.repeat(100_000))).toBe(false);
  });
});

const args: JsonObject = {
  file: 'greetings.txt',
  path: 'greetings.txt',
  count: 7,
  dry: false,
  none: null,
  body: { channel: 'web', to: ['ada', 'grace'] },
};
const subject: RuleSubject = {
  effect: {
    kind: 'write_external',
    uses: 'cap.file.append',
    target: 'file:greetings.txt',
    args,
    effectClass: 'keyed',
  },
  requestedBy: 'ada',
  workflow: 'shop.greetings@v1',
};
const base: RuleMatch = { kinds: ['write_external'], capability: '*' };

describe('matching of a rule', () => {
  test.each<[string, Partial<RuleMatch>, boolean]>([
    ['its kind', {}, true],
    ['another kind', { kinds: ['notify', 'other'] }, false],
    ['one of its kinds', { kinds: ['notify', 'write_external'] }, true],
    ['its capability', { capability: 'cap.file.*' }, true],
    ['another capability', { capability: 'cap.http.*' }, false],
    ['its target', { target: 'file:*.txt' }, true],
    ['another target', { target: 'file:*.md' }, false],
    ['its requester', { requester: 'ada' }, true],
    ['another requester', { requester: 'grace' }, false],
    ['its workflow', { workflow: 'shop.*' }, true],
    ['another workflow', { workflow: 'desk.*' }, false],
    ['an argument', { arguments: { path: 'greetings.*' } }, true],
    ['another argument', { arguments: { path: 'letters.*' } }, false],
    ['all of several arguments', { arguments: { path: '*', count: '7', dry: 'false' } }, true],
    ['one of several arguments', { arguments: { path: '*', count: '8' } }, false],
    ['an argument deeper down', { arguments: { 'body.channel': 'web', 'body.to.1': 'gr*' } }, true],
    ['an argument that is not there', { arguments: { missing: '*' } }, false],
    ['an argument below one that is not there', { arguments: { 'missing.deeper': '*' } }, false],
    ['an argument below a text', { arguments: { 'path.length': '*' } }, false],
    ['an argument that is nothing', { arguments: { none: '*' } }, false],
    ['an argument that is a part of its own', { arguments: { body: '*' } }, false],
    ['what every object has', { arguments: { constructor: '*' } }, false],
    ['what every object comes from', { arguments: { '__proto__.toString': '*' } }, false],
  ])('%s', (_, match, expected) => {
    expect(matches({ ...base, ...match }, subject)).toBe(expected);
  });

  test('all conditions of a rule must hold', () => {
    const all: RuleMatch = {
      kinds: ['write_external'],
      capability: 'cap.file.append',
      target: '*greetings*',
      arguments: { 'body.channel': 'web' },
      requester: 'a*',
      workflow: '*@v1',
    };
    expect(matches(all, subject)).toBe(true);
    for (const wrong of [
      { kinds: ['other' as const] },
      { capability: 'x' },
      { target: 'x' },
      { arguments: { 'body.channel': 'x' } },
      { requester: 'x' },
      { workflow: 'x' },
    ])
      expect(matches({ ...all, ...wrong }, subject)).toBe(false);
  });

  test('a workflow condition does not match a request without workflow', () => {
    const { workflow: _, ...without } = subject;
    expect(matches({ ...base, workflow: '*' }, without)).toBe(false);
    expect(matches(base, without)).toBe(true);
  });
});

describe('standing rules never match', () => {
  const kindIs = (kind: 'work' | SideEffectKind): RuleSubject => ({
    ...subject,
    effect: { ...subject.effect, kind },
  });
  test.each<[string, RuleSubject]>([
    ['a merge', kindIs('merge')],
    ['a deploy', kindIs('deploy')],
    ['a destructive edit', kindIs('destructive_edit')],
    ['work', kindIs('work')],
    ['a doubt', { ...subject, inDoubt: { epoch: 1 } }],
    ['a job that is stuck', { ...subject, stuck: { class: 'UNKNOWN' } }],
    ['what its gate keeps from rules', { ...subject, policy: { rules: false } }],
    ['what more than one person has to approve', { ...subject, policy: { quorum: 2 } }],
    ['what cannot be approved', { ...subject, policy: { decisions: ['reject', 'request_changes'] } }],
  ])('%s, whatever the rule says', (_, request) => {
    expect(isForRules(request)).toBe(false);
    for (const match of [
      { capability: '*' },
      { capability: '*', target: '*' },
      { capability: '*', kinds: [...SideEffectKind.options] },
    ] satisfies RuleMatch[])
      expect(matches(match, request)).toBe(false);
  });

  test('standing rules may match all other effects', () => {
    for (const kind of ['write_external', 'notify', 'other'] as const)
      expect(matches({ capability: '*' }, kindIs(kind))).toBe(true);
    for (const policy of [{}, { rules: true, quorum: 1 }, { decisions: ['approve' as const] }])
      expect(matches({ capability: '*' }, { ...subject, policy })).toBe(true);
  });
});

describe('a new rule', () => {
  test.each<[string, unknown]>([
    ['fits everything', {}],
    ['fits every capability of one kind', { kinds: ['notify'] }],
    ['fits every capability on one target', { target: 'notify:*' }],
    ['fits everything of one person', { requester: 'ada' }],
    ['fits everything of one workflow', { workflow: 'shop.*' }],
    ['fits everything with one argument', { arguments: { path: '*' } }],
    ['is about merges', { capability: '*', kinds: ['merge'] }],
    ['is about deploys among others', { capability: '*', kinds: ['notify', 'deploy'] }],
    ['is about destructive edits', { capability: '*', kinds: ['destructive_edit'], target: '*' }],
    ['is about no kind', { capability: '*', kinds: [] }],
    ['has an empty pattern', { capability: '*', target: '' }],
    ['has a pattern without end', { capability: '*', target: 'a'.repeat(513) }],
  ])('must not be one that %s', (_, match) => {
    expect(RuleMatch.safeParse(match).success).toBe(false);
  });

  test('a rule ends after a time, after a number of uses, or never', () => {
    const spec = { name: 'x', match: { capability: 'cap.*' } };
    expect(RuleSpec.parse(spec)).toEqual(spec);
    for (const wrong of [{ usesMax: 0 }, { usesMax: 1_001 }, { expiresInMs: 59_999 }, { name: '' }])
      expect(RuleSpec.safeParse({ ...spec, ...wrong }).success).toBe(false);
  });
});
