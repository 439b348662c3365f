import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createReplayGuard, isSigned, SKEW_MAX_MS } from './signature.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const NOW = 1_700_000_000_000;
const body = Buffer.from('{"type":1}');
const signedAt = (seconds: number | string, what: Uint8Array = body) => ({
  signature: sign(null, Buffer.concat([Buffer.from(String(seconds)), what]), privateKey).toString('hex'),
  timestamp: String(seconds),
  body: what,
});
const seconds = NOW / 1_000;

describe('a request', () => {
  test.each([0, -SKEW_MAX_MS, SKEW_MAX_MS])('is discord’s when it was signed %d ms from now', (ms) => {
    expect(isSigned(publicKey, signedAt(seconds + ms / 1_000), NOW)).toBe(true);
  });

  test.each([
    ['too old', signedAt(seconds - SKEW_MAX_MS / 1_000 - 1)],
    ['too new', signedAt(seconds + SKEW_MAX_MS / 1_000 + 1)],
    ['at a time that is none', signedAt('now')],
    ['at a time with a blank', signedAt(` ${String(seconds)}`)],
    ['of another body', { ...signedAt(seconds), body: Buffer.from('{"type":3}') }],
    ['of no body', { ...signedAt(seconds), body: Buffer.alloc(0) }],
    ['at another time', { ...signedAt(seconds), timestamp: String(seconds + 1) }],
    ['with half of a signature', { ...signedAt(seconds), signature: signedAt(seconds).signature.slice(64) }],
    ['with a longer signature', { ...signedAt(seconds), signature: `${signedAt(seconds).signature}00` }],
    ['without a signature', { ...signedAt(seconds), signature: undefined }],
    ['without a time', { ...signedAt(seconds), timestamp: undefined }],
  ])('is not when it is %s', (_what, request) => {
    expect(isSigned(publicKey, request, NOW)).toBe(false);
  });

  test('is not when somebody else has signed it', () => {
    expect(isSigned(generateKeyPairSync('ed25519').publicKey, signedAt(seconds), NOW)).toBe(false);
  });
});

test('an interaction is seen once for as long as its signature is good', () => {
  const isSeen = createReplayGuard();
  expect([isSeen('1', NOW), isSeen('1', NOW), isSeen('2', NOW)]).toEqual([false, true, false]);
  expect(isSeen('1', NOW + 2 * SKEW_MAX_MS)).toBe(true);
  expect(isSeen('1', NOW + 2 * SKEW_MAX_MS + 1)).toBe(false);
});
