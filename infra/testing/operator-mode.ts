import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { consumers, streams } from '@holdpoint/contracts/bus/streams';
import { encodeAccount, encodeOperator, encodeUser, fmtCreds } from '@nats-io/jwt';
import type { Account as AccountClaims } from '@nats-io/jwt';
import { createAccount, createOperator, createUser } from '@nats-io/nkeys';
import { busAccess } from '../nats/accounts.ts';
import { exportNats } from '../nats/export/export.ts';
import { guestClaims } from '../nats/export/jwts.ts';
import { keepBusKeys } from '../nats/export/keys.ts';

/** A NATS in operator mode that an account of others uses too. */
export type OperatorMode = {
  /** In place of the accounts block of a server configuration. */
  readonly accounts: string;
  /** The login of a user of the other account, who may do everything in it. */
  readonly otherCreds: Uint8Array;
};

export type OperatorModeOptions = {
  readonly credentialsDir: string;
  /** Before the subjects of Holdpoint in the other account. */
  readonly prefix?: string;
  /** Changes the exported JWTs, as a careless administrator would. */
  readonly mangle?: (preload: string) => string;
};

/** Exports a credentials folder to an operator of its own. The folder gets `.creds` for every user. */
export const operatorMode = async ({
  credentialsDir,
  prefix = 'acme',
  mangle = (text) => text,
}: OperatorModeOptions): Promise<OperatorMode> => {
  const out = await mkdtemp(join(tmpdir(), 'holdpoint-operator-'));
  const [operator, system, other, user] = [createOperator(), createAccount(), createAccount(), createUser()];
  const operatorSeed = join(out, 'operator.seed');
  await writeFile(operatorSeed, operator.getSeed(), { mode: 0o600 });
  const otherKey = other.getPublicKey();
  const guests = [{ account: otherKey, prefix }];
  await exportNats({
    as: 'jwt',
    out,
    credentials: credentialsDir,
    name: 'HOLDPOINT',
    pools: '',
    streamReplicas: 1,
    guests: guests.map((guest) => `${guest.account}=${guest.prefix}`),
    operatorSeed,
  });
  const access = busAccess({ streams, consumers }, { guests });
  const claims: Partial<AccountClaims> = {
    imports: [...(await guestClaims({ access, keys: await keepBusKeys(credentialsDir) }, otherKey))],
    limits: {
      subs: -1,
      data: -1,
      payload: -1,
      imports: -1,
      exports: -1,
      wildcards: true,
      conn: -1,
      leaf: -1,
      disk_storage: 64 * 1024 * 1024,
      mem_storage: 0,
      streams: 4,
      consumer: 16,
    },
  };
  const signedBy = { signer: operator };
  const preload = [
    `  ${system.getPublicKey()}: ${await encodeAccount('SYS', system, {}, signedBy)}`,
    `  ${otherKey}: ${await encodeAccount('ACME', other, claims, signedBy)}`,
    mangle(await readFile(join(out, 'holdpoint-accounts.conf'), 'utf8')),
  ];
  const jwt = await encodeOperator('ORG', operator, { system_account: system.getPublicKey() });
  return {
    accounts: `operator: ${jwt}\nsystem_account: ${system.getPublicKey()}\nresolver: MEMORY\nresolver_preload {\n${preload.join('\n')}}\n`,
    otherCreds: fmtCreds(await encodeUser('someone', user, other), user),
  };
};
