import { describe, expect, test } from 'vitest';
import { customId, parseCustomId } from './custom-id.ts';

const token = '0e9b2c5a-8f0e-4d53-9c57-6f6a8f1f4d11';
const digest = 'a'.repeat(64);
const id = 'a-0123456789';

describe('the id of a button', () => {
  test('an id is parsed as it was written', () => {
    const text = customId('keep', { id, digest, token }) ?? '';
    expect(text.length).toBeLessThanOrEqual(100);
    expect(parseCustomId(text)).toEqual({
      press: { does: 'decide', choice: 'approve', remember: true },
      id,
      token,
      digest: 'a'.repeat(12),
    });
  });

  test.each([
    ['again', 'retry'],
    ['skip', 'skip'],
    ['done', 'done'],
    ['end', 'cancel'],
  ] as const)('the button id %s of earlier versions means %s', (press, choice) => {
    expect(parseCustomId(`${press}.${'a'.repeat(12)}.${token}.${id}`)?.press).toEqual({
      does: 'decide',
      choice,
    });
  });

  test('an id names an option by its position, or a form', () => {
    expect(parseCustomId(customId('pick24', { id, digest, token }) ?? '')?.press).toEqual({
      does: 'pick',
      option: 24,
    });
    expect(parseCustomId(customId('in?', { id, digest, token }) ?? '')?.press).toEqual({ does: 'open' });
  });

  test('the longest approval ids do not fit', () => {
    expect(customId('again', { id: 'x'.repeat(44), digest, token })).toHaveLength(100);
    expect(customId('again', { id: 'x'.repeat(45), digest, token })).toBeUndefined();
  });

  test.each([
    '',
    'ok',
    `ok.${'a'.repeat(12)}.${token}`,
    `ok.${'a'.repeat(11)}.${token}.${id}`,
    `ok.${'A'.repeat(12)}.${token}.${id}`,
    `ok.${'a'.repeat(12)}.${token}.${id}.x`,
    `ok.${'a'.repeat(12)}.${token}.u-0123456789`,
    `ok.${'a'.repeat(12)}.0e9b2c5a-8f0e-1d53-9c57-6f6a8f1f4d11.${id}`,
    `toString.${'a'.repeat(12)}.${token}.${id}`,
    `ok.${'a'.repeat(12)}.${token}.a b`,
    `pick.${'a'.repeat(12)}.${token}.${id}`,
    `pick01.${'a'.repeat(12)}.${token}.${id}`,
    `pick100.${'a'.repeat(12)}.${token}.${id}`,
    `pick-1.${'a'.repeat(12)}.${token}.${id}`,
    'x'.repeat(100_000),
  ])('the id %j is invalid', (text) => {
    expect(parseCustomId(text)).toBeUndefined();
  });
});
