import { createPublicKey, type KeyObject, sign } from 'node:crypto';
import { keyIdOf } from '@holdpoint/contracts/values/jws';

export { createVerifier, keyIdIn, keyIdOf } from '@holdpoint/contracts/values/jws';

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Signs claims with an Ed25519 private key. The same claims always give the same token. */
export const createSigner = (privateKey: KeyObject): ((claims: object) => string) => {
  const header = encode({ alg: 'EdDSA', kid: keyIdOf(createPublicKey(privateKey)) });
  return (claims) => {
    const signed = `${header}.${encode(claims)}`;
    return `${signed}.${sign(null, Buffer.from(signed), privateKey).toString('base64url')}`;
  };
};
