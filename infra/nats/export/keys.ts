import { nkeyOf } from '@holdpoint/contracts/bus/nkey';
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

/** Signs with OpenSSL: an export signs some hundred JWTs. */
export const keyPairIn = (seed: string): KeyPair => {
  const key = fromSeed(new TextEncoder().encode(seed.trim()));
  const { publicKey, sign } = nkeyOf(seed.trim());
  return {
    getPublicKey: () => publicKey,
    getPrivateKey: () => key.getPrivateKey(),
    getSeed: () => key.getSeed(),
    sign,
    verify: (input, signature) => key.verify(input, signature),
    clear: () => key.clear(),
    seal: (input, recipient, nonce) => key.seal(input, recipient, nonce),
    open: (message, sender) => key.open(message, sender),
  };
};

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
