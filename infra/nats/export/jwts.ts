import { encodeAccount, encodeActivation, encodeUser, fmtCreds } from '@nats-io/jwt';
import type {
  Account as AccountClaims,
  Export as ExportClaim,
  Import as ImportClaim,
  SigningKey,
} from '@nats-io/jwt';
import type { KeyPair } from '@nats-io/nkeys';
import { ACCOUNT_NEEDS } from '@holdpoint/contracts/bus/server-needs';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { NatsUser } from '../../credentials/layout.ts';
import { ACCOUNTS, exportsOf } from '../accounts.ts';
import type { Account, BusAccess, Export, Import } from '../accounts.ts';
import { hasManyAnswers } from '../jetstream-api.ts';
import { SERVICE_DISCOVERY } from '../permissions.ts';
import type { BusKeys } from './keys.ts';

const MIB = 1024 * 1024;
const MEMORY_MIB = 64;
const UNLIMITED = -1;

export type JwtOptions = {
  readonly access: BusAccess;
  /** Stands before each account name. */
  readonly prefix: string;
  readonly keys: BusKeys;
  /** The identity or a signing key of the operator. Left out: the accounts sign themselves, for `nsc import account`. */
  readonly operator?: KeyPair | undefined;
  readonly streamReplicas: number;
};

const servicesByAccount = new Map(SERVICES.map((service) => [ACCOUNTS[service], service]));

/** A JWT may import one subject from one account only, so that services are found by their names. */
const named = (each: Import): readonly Import[] => {
  const service = servicesByAccount.get(each.from);
  if (each.subject !== SERVICE_DISCOVERY || service === undefined) return [each];
  const subject = `$SRV.*.holdpoint-${service}`;
  return [subject, `${subject}.>`].map((one) => ({ ...each, subject: one }));
};

const isWithin = (inner: string, outer: string): boolean => {
  const [a, b] = [inner.split('.'), outer.split('.')];
  return (
    b.every((token, i) => {
      if (token === '>') return a.length > i;
      return a[i] !== undefined && a[i] !== '>' && (token === '*' || token === a[i]);
    }) &&
    (b.at(-1) === '>' || a.length === b.length)
  );
};

/** A JWT may export no subject twice. The activation of each import grants that subject alone, so a wider export is safe. */
const widest = (exports: readonly Export[]): readonly Export[] =>
  exports.filter(
    (each) =>
      !exports.some(
        (other) => other !== each && other.kind === each.kind && isWithin(each.subject, other.subject),
      ),
  );

/** The same access within the rules of JWTs. */
export const forJwts = (access: BusAccess): readonly Account[] => {
  const imports = new Map<string, readonly Import[]>(
    access.accounts.map((account) => [account.name, account.imports.flatMap(named)]),
  );
  for (const guest of access.guests) imports.set(guest.account, guest.imports);
  return access.accounts.map((account) => ({
    ...account,
    imports: imports.get(account.name) ?? [],
    exports: widest(exportsOf(account.name, imports)),
  }));
};

const accountKey = ({ accounts }: BusKeys, name: string): KeyPair => {
  const key = accounts[name];
  if (key === undefined) throw new Error(`the account ${name} has no key`);
  return key;
};

/** Exports are private: only an account with an activation of the exporter can import them. */
const importClaim = async (
  importer: string,
  { kind, from, subject, to }: Import,
  keys: BusKeys,
): Promise<ImportClaim> => {
  const exporter = accountKey(keys, from);
  return {
    name: `${from} ${subject}`,
    type: kind,
    subject,
    account: exporter.getPublicKey(),
    token: await encodeActivation(subject, importer, exporter, kind, { subject }),
    ...(to !== undefined && { local_subject: to }),
  };
};

const exportClaim = ({ kind, subject }: Export): ExportClaim => ({
  name: subject,
  type: kind,
  subject,
  token_req: true,
  ...(kind === 'service' && { response_type: hasManyAnswers(subject) ? 'Stream' : 'Singleton' }),
});

/** The library's own builder would add the right to answer. */
const roleOf = (user: NatsUser, { permissions }: BusAccess, { roles }: BusKeys): SigningKey => ({
  kind: 'user_scope',
  key: roles[user].getPublicKey(),
  role: user,
  template: {
    pub: { allow: [...permissions[user].publish.allow] },
    sub: { allow: [...permissions[user].subscribe.allow] },
    subs: UNLIMITED,
    data: UNLIMITED,
    payload: UNLIMITED,
  },
});

const storage = (replicas: number) => ({
  mem_storage: MEMORY_MIB * MIB,
  disk_storage: ACCOUNT_NEEDS.diskMib * MIB * replicas,
  streams: ACCOUNT_NEEDS.streams,
  consumer: ACCOUNT_NEEDS.consumers,
});

const limits = (hasStreams: boolean, replicas: number): NonNullable<AccountClaims['limits']> => ({
  subs: UNLIMITED,
  data: UNLIMITED,
  payload: UNLIMITED,
  imports: UNLIMITED,
  exports: UNLIMITED,
  wildcards: true,
  conn: UNLIMITED,
  leaf: 0,
  ...(hasStreams && storage(replicas)),
});

const inTurn = async <Item, Made>(
  items: readonly Item[],
  make: (item: Item) => Promise<Made>,
): Promise<readonly Made[]> => {
  const all: Made[] = [];
  for (const item of items) all.push(await make(item));
  return all;
};

const accountJwt = async (
  { name, users, exports, imports }: Account,
  { access, prefix, keys, operator, streamReplicas }: JwtOptions,
): Promise<string> => {
  const key = accountKey(keys, name);
  return encodeAccount(
    `${prefix}_${name}`,
    key,
    {
      description: 'Holdpoint',
      limits: limits(users.includes('topology'), streamReplicas),
      exports: exports.map(exportClaim),
      imports: [...(await inTurn(imports, (each) => importClaim(key.getPublicKey(), each, keys)))],
      signing_keys: users.map((user) => roleOf(user, access, keys)),
    },
    operator === undefined ? {} : { signer: operator },
  );
};

export type AccountJwt = { readonly name: string; readonly publicKey: string; readonly jwt: string };

/** The JWT of each account. They hold no secret. */
export const accountJwts = (options: JwtOptions): Promise<readonly AccountJwt[]> =>
  inTurn(forJwts(options.access), async (account) => ({
    name: `${options.prefix}_${account.name}`,
    publicKey: accountKey(options.keys, account.name).getPublicKey(),
    jwt: await accountJwt(account, options),
  }));

/** The `.creds` of a user: its permissions stand in its account, so that a later release needs no new file. */
export const userCreds = async (user: NatsUser, keys: BusKeys): Promise<string> => {
  const account = accountKey(keys, ACCOUNTS[user]).getPublicKey();
  const jwt = await encodeUser(
    user,
    keys.users[user].getPublicKey(),
    account,
    {},
    { signer: keys.roles[user], scopedUser: true },
  );
  return new TextDecoder().decode(fmtCreds(jwt, keys.users[user]));
};

/** What an account of others adds to the imports in its JWT. Its name is its public key. */
export const guestClaims = (
  { access, keys }: Pick<JwtOptions, 'access' | 'keys'>,
  publicKey: string,
): Promise<readonly ImportClaim[]> =>
  inTurn(access.guests.find(({ account }) => account === publicKey)?.imports ?? [], (each) =>
    importClaim(publicKey, each, keys),
  );
