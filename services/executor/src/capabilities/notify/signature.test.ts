import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from 'vitest';
import { CleanFailure } from '../../ports/capability.ts';
import { signedHeaders } from './signature.ts';

/** The example of the specification's reference implementations. */
const VECTOR = {
  secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  timestamp: 1_614_265_330,
  body: '{"test": 2432232314}',
  signature: 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};
const other = `whsec_${Buffer.alloc(64, 7).toString('base64')}`;

describe('webhook signatures', () => {
  test('a signature matches the specification', () => {
    const { secret, signature, ...signed } = VECTOR;
    expect(signedHeaders(signed, [secret])).toEqual({
      'webhook-id': VECTOR.id,
      'webhook-timestamp': '1614265330',
      'webhook-signature': signature,
    });
  });

  test('a receiver verifies a signature with any of the secrets, and with no other', () => {
    const body = '{"type":"a.b","data":{"ü":"\\u0000"}}';
    const timestamp = Math.floor(Date.now() / 1_000);
    const headers = signedHeaders({ id: 'e-1', timestamp, body }, [VECTOR.secret, other]);
    for (const secret of [VECTOR.secret, other])
      expect(new Webhook(secret).verify(body, headers)).toEqual({ type: 'a.b', data: { ü: '\0' } });
    const stranger = new Webhook(`whsec_${Buffer.alloc(32, 9).toString('base64')}`);
    expect(() => stranger.verify(body, headers)).toThrow('No matching signature');
  });

  test('a signature covers the id, the time and every byte of the body', () => {
    const timestamp = Math.floor(Date.now() / 1_000);
    const headers = signedHeaders({ id: 'e-1', timestamp, body: '{"a":1}' }, [other]);
    const receiver = new Webhook(other);
    const wrong: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
      ['{"a":2}', headers],
      ['{"a": 1}', headers],
      ['{"a":1}', { ...headers, 'webhook-id': 'e-2' }],
      ['{"a":1}', { ...headers, 'webhook-timestamp': String(timestamp - 1) }],
    ];
    for (const [body, changed] of wrong)
      expect(() => receiver.verify(body, changed)).toThrow('No matching signature');
  });

  test.each([
    'sesame',
    'whsec_',
    'whsec_sesame!',
    `whsec_${Buffer.alloc(23).toString('base64')}`,
    `whsec_${Buffer.alloc(65).toString('base64')}`,
    `WHSEC_${Buffer.alloc(32).toString('base64')}`,
    Buffer.alloc(32).toString('base64'),
  ])('an invalid secret is refused, and not shown: %s', (secret) => {
    const sign = () => signedHeaders({ id: 'e-1', timestamp: 0, body: '' }, [VECTOR.secret, secret]);
    expect(sign).toThrow(CleanFailure);
    expect(sign).toThrow(/^(?!.*sesame)The secret is not a webhook key/);
  });
});
