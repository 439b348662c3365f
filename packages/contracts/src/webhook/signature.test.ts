import { generateKeyPairSync, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { publicKeysIn } from '../approval/signing-keys.ts';
import { hasCode } from '../values/errors.ts';
import { verifyWebhook, webhookHeaders } from './signature.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const NOW = 1_790_000_000_000;
const signWith = (key: typeof privateKey) => (text: Buffer) => sign(null, text, key);
const body = JSON.stringify({
  type: 'effect.applied',
  version: 1,
  timestamp: '2026-09-21T14:13:20.000Z',
  data: { id: 't-1', effect: 'e-1', capability: 'refund', key: 'é😀', state: 'applied', outputs: { re: 1 } },
});
const webhook = { id: 'w-0123456789abcdef', timestamp: NOW / 1_000, body };
const headers = webhookHeaders(webhook, signWith(privateKey));
const at = { now: NOW };

const codeOf = (call: () => unknown): string => {
  try {
    call();
  } catch (error) {
    if (hasCode(error, 'WEBHOOK_SIGNATURE_INVALID') || hasCode(error, 'CONTRACT_INVALID')) return error.code;
    throw error;
  }
  return 'accepted';
};

describe('a signed webhook', () => {
  test('a signed webhook is verified with the public key, from headers of either form', () => {
    for (const received of [headers, new Headers(headers)]) {
      const event = verifyWebhook({ headers: received, body: Buffer.from(body) }, [publicKey], at);
      expect(event).toMatchObject({ type: 'effect.applied', data: { key: 'é😀', outputs: { re: 1 } } });
    }
  });

  test('a webhook is verified with any of several keys and signatures, as in a rotation', () => {
    const other = generateKeyPairSync('ed25519').publicKey;
    const two = { ...headers, 'webhook-signature': `v1,abc ${headers['webhook-signature'] ?? ''}` };
    expect(codeOf(() => verifyWebhook({ headers: two, body }, [other, publicKey], at))).toBe('accepted');
  });

  test.each([
    ['the body', { body: `${body} ` }],
    ['the id', { headers: { ...headers, 'webhook-id': 'w-0123456789abcdeg' } }],
    ['the time', { headers: { ...headers, 'webhook-timestamp': String(NOW / 1_000 + 1) } }],
    ['the signature', { headers: { ...headers, 'webhook-signature': `v1a,${'A'.repeat(86)}==` } }],
    ['no signature', { headers: { ...headers, 'webhook-signature': '' } }],
    ['no headers', { headers: {} }],
    ['a stranger', { headers: webhookHeaders(webhook, signWith(generateKeyPairSync('ed25519').privateKey)) }],
  ])('a webhook is refused when it differs in %s', (_, changed) => {
    expect(codeOf(() => verifyWebhook({ headers, body, ...changed }, [publicKey], at))).toBe(
      'WEBHOOK_SIGNATURE_INVALID',
    );
  });

  test('a webhook from more than five minutes ago or ahead is refused', () => {
    for (const [now, code] of [
      [NOW + 300_000, 'accepted'],
      [NOW - 300_000, 'accepted'],
      [NOW + 301_000, 'WEBHOOK_SIGNATURE_INVALID'],
      [NOW - 301_000, 'WEBHOOK_SIGNATURE_INVALID'],
    ] as const)
      expect(codeOf(() => verifyWebhook({ headers, body }, [publicKey], { now }))).toBe(code);
  });

  test('an event of a later version is no signature error', () => {
    const later = { ...webhook, body: JSON.stringify({ type: 'effect.applied', version: 2, data: {} }) };
    const received = { headers: webhookHeaders(later, signWith(privateKey)), body: later.body };
    expect(codeOf(() => verifyWebhook(received, [publicKey], at))).toBe('CONTRACT_INVALID');
  });

  test('a text of another purpose of the same key cannot be signed as a webhook', () => {
    for (const id of ['eyJhbGciOiJFZERTQSJ9', 'holdpoint-claim/1\n', 'w-a.b', ''])
      expect(() => webhookHeaders({ ...webhook, id }, signWith(privateKey))).toThrow('not the id');
  });
});

const Vectors = z.object({
  keys: z.array(z.object({ publicKey: z.string() })),
  webhooks: z.array(
    z.object({
      name: z.string(),
      headers: z.record(z.string(), z.string()),
      body: z.string(),
      now: z.int(),
      code: z.string().nullable(),
    }),
  ),
});
const file = new URL('../../vectors/remote-effects.json', import.meta.url);
const vectors = Vectors.parse(JSON.parse(readFileSync(file, 'utf8')));
const keys = vectors.keys.flatMap((each) => publicKeysIn(each.publicKey));

test.each(vectors.webhooks)(
  'webhooks are verified as the vectors say: $name',
  ({ code, now, ...received }) => {
    expect(codeOf(() => verifyWebhook(received, keys, { now }))).toBe(code ?? 'accepted');
  },
);
