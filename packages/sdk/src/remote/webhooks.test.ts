import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { type PublishedKeys, signingKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import { keyIdOf } from '@holdpoint/contracts/values/jws';
import { webhookHeaders } from '@holdpoint/contracts/webhook/signature';
import { expect, test } from 'vitest';
import { webhookVerifier } from './webhooks.ts';

const keyPair = () => generateKeyPairSync('ed25519');
const [first, second, stranger] = [keyPair(), keyPair(), keyPair()];

const statement = (by: KeyObject, about: KeyObject): string => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { use: 'keys', keys: [signingKeyOf(about)], iat: Math.floor(Date.now() / 1_000) };
  const said = `${part({ alg: 'EdDSA', kid: keyIdOf(createPublicKey(by.export({ type: 'pkcs8', format: 'pem' }))) })}.${part(claims)}`;
  return `${said}.${sign(null, Buffer.from(said), by).toString('base64url')}`;
};
const body = JSON.stringify({
  type: 'effect.rejected',
  version: 1,
  timestamp: new Date().toISOString(),
  data: { id: 't-1', effect: 'e-1', capability: 'refund', key: 'k', state: 'rejected' },
});
const signedBy = (key: KeyObject) => ({
  body,
  headers: webhookHeaders(
    { id: 'w-0123456789abcdef', timestamp: Math.floor(Date.now() / 1_000), body },
    (text) => sign(null, text, key),
  ),
});

test('webhooks are verified with the published keys, and after a rotation with those that they vouch for', async () => {
  const answers: PublishedKeys[] = [
    { keys: [signingKeyOf(first.publicKey)], statements: [] },
    {
      keys: [signingKeyOf(second.publicKey)],
      statements: [statement(first.privateKey, second.publicKey)],
    },
  ];
  let asked = 0;
  const keys = (): Promise<PublishedKeys> => {
    const answer = answers[Math.min(asked, 1)];
    asked += 1;
    return answer === undefined ? Promise.reject(new Error('no answer')) : Promise.resolve(answer);
  };
  const verify = webhookVerifier({ keys });
  expect(await verify(signedBy(first.privateKey))).toMatchObject({ type: 'effect.rejected' });
  expect(asked).toBe(1);
  expect(await verify(signedBy(second.privateKey))).toMatchObject({ data: { key: 'k' } });
  expect(asked).toBe(2);
});

test('forged webhooks are refused, and ask for the keys once', async () => {
  let asked = 0;
  const verify = webhookVerifier({
    keys: () => {
      asked += 1;
      return Promise.resolve({ keys: [signingKeyOf(first.publicKey)], statements: [] });
    },
  });
  for (let i = 0; i < 3; i += 1)
    await expect(verify(signedBy(stranger.privateKey))).rejects.toMatchObject({
      code: 'WEBHOOK_SIGNATURE_INVALID',
    });
  expect(asked).toBe(2);
});
