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

describe('a signed request', () => {
  test.each([0, -SKEW_MAX_MS, SKEW_MAX_MS])('a signature %d ms away from now is valid', (ms) => {
    expect(isSigned(publicKey, signedAt(seconds + ms / 1_000), NOW)).toBe(true);
  });

  test.each([
    ['too old', signedAt(seconds - SKEW_MAX_MS / 1_000 - 1)],
    ['too new', signedAt(seconds + SKEW_MAX_MS / 1_000 + 1)],
    ['with an invalid time', signedAt('now')],
    ['with a blank in its time', signedAt(` ${String(seconds)}`)],
    ['for another body', { ...signedAt(seconds), body: Buffer.from('{"type":3}') }],
    ['for an empty body', { ...signedAt(seconds), body: Buffer.alloc(0) }],
    ['for another time', { ...signedAt(seconds), timestamp: String(seconds + 1) }],
    ['too short', { ...signedAt(seconds), signature: signedAt(seconds).signature.slice(64) }],
    ['too long', { ...signedAt(seconds), signature: `${signedAt(seconds).signature}00` }],
    ['missing', { ...signedAt(seconds), signature: undefined }],
    ['sent without a time', { ...signedAt(seconds), timestamp: undefined }],
  ])('a signature is invalid when it is %s', (_what, request) => {
    expect(isSigned(publicKey, request, NOW)).toBe(false);
  });

  test('a signature by another key is invalid', () => {
    expect(isSigned(generateKeyPairSync('ed25519').publicKey, signedAt(seconds), NOW)).toBe(false);
  });
});

test('a repeated interaction is detected while its signature is valid', () => {
  const isSeen = createReplayGuard();
  expect([isSeen('1', NOW), isSeen('1', NOW), isSeen('2', NOW)]).toEqual([false, true, false]);
  expect(isSeen('1', NOW + 2 * SKEW_MAX_MS)).toBe(true);
  expect(isSeen('1', NOW + 2 * SKEW_MAX_MS + 1)).toBe(false);
});
