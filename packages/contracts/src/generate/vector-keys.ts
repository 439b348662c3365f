import { createHash, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';

/** PKCS #8 of an Ed25519 key, up to its 32 bytes. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

const testKey = (name: string): KeyObject => {
  const seed = createHash('sha256').update(`holdpoint test key ${name}`).digest();
  return createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' });
};

export const APPROVALS = testKey('approvals');
export const NEXT = testKey('approvals after a rotation');
export const STRANGER = testKey('stranger');
export const CLAIMANT = testKey('claimant');

export const publicOf = (key: KeyObject): KeyObject =>
  createPublicKey(key.export({ type: 'pkcs8', format: 'pem' }));
