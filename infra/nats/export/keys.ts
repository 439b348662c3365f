import { createPrivateKey, sign } from 'node:crypto';
import { createAccount, fromSeed } from '@nats-io/nkeys';
import type { KeyPair } from '@nats-io/nkeys';
import { keep, privateFolder } from '../../credentials/keep.ts';
import { layout, natsUsers } from '../../credentials/layout.ts';
import type { NatsUser } from '../../credentials/layout.ts';
import { readNatsSeed } from '../../credentials/read.ts';
import { recordInTurn } from '../../local/record.ts';
import { ACCOUNTS } from '../accounts.ts';

/** The keys of a NATS in operator mode, without that of the operator. */
export type BusKeys = {
  /** By account of `ACCOUNTS`. */
  readonly accounts: Readonly<Record<string, KeyPair>>;
  /** The scoped signing key of each user: its permissions stand in the JWT of the account. */
  readonly roles: Readonly<Record<NatsUser, KeyPair>>;
  readonly users: Readonly<Record<NatsUser, KeyPair>>;
};

const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
/** What DER puts before the 32 bytes of an Ed25519 key. */
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The bytes of a seed, between its two bytes of prefix and its checksum. */
const rawSeed = (seed: Uint8Array): Buffer => {
  const bits = Array.from(seed, (character) =>
    BASE32.indexOf(String.fromCharCode(character)).toString(2).padStart(5, '0'),
  ).join('');
  return Buffer.from((bits.match(/.{8}/g) ?? []).slice(2, 34).map((byte) => Number.parseInt(byte, 2)));
};

/** The same key with the signatures of OpenSSL: an export signs some hundred JWTs, at 10 ms each in JavaScript. */
const quick = (key: KeyPair): KeyPair => {
  const publicKey = key.getPublicKey();
  const der = Buffer.concat([PKCS8, rawSeed(key.getSeed())]);
  const signing = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' });
  return {
    getPublicKey: () => publicKey,
    getPrivateKey: () => key.getPrivateKey(),
    getSeed: () => key.getSeed(),
    sign: (input) => sign(null, input, signing),
    verify: (input, signature) => key.verify(input, signature),
    clear: () => key.clear(),
    seal: (input, recipient, nonce) => key.seal(input, recipient, nonce),
    open: (message, sender) => key.open(message, sender),
  };
};

export const keyPairIn = (seed: string): KeyPair => quick(fromSeed(new TextEncoder().encode(seed.trim())));

const newAccountSeed = (): string => new TextDecoder().decode(createAccount().getSeed());

/** The keys in a credentials folder. Missing keys of accounts and roles are made: later exports need the same ones. */
export const keepBusKeys = async (dir: string): Promise<BusKeys> => {
  const files = layout(dir);
  await privateFolder(files.natsAccountsDir);
  const kept = async (name: string) =>
    keyPairIn((await keep(files.natsAccountSeed(name), newAccountSeed)).text);
  return {
    accounts: await recordInTurn([...new Set(Object.values(ACCOUNTS))], kept),
    roles: await recordInTurn(natsUsers, (user) => kept(`role-${user}`)),
    users: await recordInTurn(natsUsers, async (user) => keyPairIn(await readNatsSeed(dir, user))),
  };
};
