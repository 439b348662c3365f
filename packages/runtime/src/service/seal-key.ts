import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { SealSigner } from '../engine/seals.ts';
import type { Logger } from '../observability/log.ts';
import { ConfigError, readSecretFile } from './config.ts';
import { followFile } from './follow-file.ts';
import { keyIdOf } from './jws.ts';

/** The key with which a service seals its messages; it may change. */
export type SealSource = {
  readonly current: () => SealSigner;
  /** Resolves once other services can know the key. The service sends nothing before. Left out: they know it from the start. */
  readonly known?: Promise<void>;
  readonly stop: () => Promise<void>;
};

export const sealSignerOf = (privateKey: KeyObject): SealSigner => ({
  kid: keyIdOf(createPublicKey(privateKey)),
  sign: (text) => sign(null, text, privateKey),
});

/** An Ed25519 private key in PEM. Throws `ConfigError` with the setting that names it, without any part of the text. */
export const privateKeyIn = (pem: string, variable: string): KeyObject => {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch (cause) {
    throw new ConfigError(`${variable}: not a private key in PEM`, { cause });
  }
  if (key.asymmetricKeyType !== 'ed25519') throw new ConfigError(`${variable}: not an Ed25519 key`);
  return key;
};

const PRIVATE = /-----BEGIN PRIVATE KEY-----[^-]+-----END PRIVATE KEY-----/;
const VARIABLE = 'HOLDPOINT_SEAL_KEY_FILE';

/** The first private key in a PEM text. */
const signerIn = (pem: string): SealSigner =>
  sealSignerOf(privateKeyIn(PRIVATE.exec(pem)?.[0] ?? '', VARIABLE));

/** A key file, read again when it changes, so that a rotation needs no restart. Throws `ConfigError`. */
export const followSealKey = (path: string, log: Logger): SealSource =>
  followFile(
    {
      name: VARIABLE,
      path,
      parse: signerIn,
      changed: ({ kid }) => log.info({ key: kid }, 'the key that seals messages was read'),
    },
    signerIn(readSecretFile(VARIABLE, path)),
    log,
  );
