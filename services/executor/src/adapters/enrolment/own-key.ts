import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { replaceFile } from '../files/durable-file.ts';

const FILE = 'seal.key.pem';

const isMissing = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ENOENT';

export type OwnKey = {
  readonly privateKey: KeyObject;
  readonly publicKey: KeyObject;
  /** Of a new key: resolves once it is kept. Until then no service can verify its seals. */
  readonly enrolled?: Promise<void>;
  /** Approvals has enrolled it: the next start of this executor takes the same key. */
  readonly keep: () => Promise<void>;
};

/**
 * The key of this executor: an enrolled one from the folder, or a new one. It never leaves the folder; only the owner may read
 * it. Throws when the file holds no Ed25519 key: an operator has to delete it.
 */
export const takeOwnKey = async (folder: string): Promise<OwnKey> => {
  const path = join(folder, FILE);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const pem = await readFile(path, 'utf8').catch((error: unknown) => {
    if (isMissing(error)) return undefined;
    throw error;
  });
  if (pem === undefined) {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519');
    const { promise: enrolled, resolve } = Promise.withResolvers<void>();
    const keep = async (): Promise<void> => {
      await replaceFile(path, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
      resolve();
    };
    return { privateKey, publicKey, enrolled, keep };
  }
  const privateKey = createPrivateKey(pem);
  if (privateKey.asymmetricKeyType !== 'ed25519')
    throw new Error(`${path} holds no Ed25519 key: delete it, the next start makes another`);
  return { privateKey, publicKey: createPublicKey(privateKey), keep: () => Promise.resolve() };
};
