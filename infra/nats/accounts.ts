import { consumers, streams } from '@holdpoint/contracts/bus/streams';
import { SERVICES } from '@holdpoint/contracts/bus/subjects';
import type { ServiceName } from '@holdpoint/contracts/bus/subjects';
import { natsUsers } from '../credentials/layout.ts';
import type { NatsUser } from '../credentials/layout.ts';
import { recordOf } from '../local/record.ts';
import { ADVISORIES } from './jetstream-api.ts';
import { guestRights, rightsOf } from './permissions.ts';
import type { Declared, Rights, Sent } from './permissions.ts';

/** The account of the streams. A message that is published here needs no import, so the busiest service is in it. */
export const CORE = 'CORE';

/**
 * One account for each user. A reply subject never leaves the account of the requester, where it reaches only subjects that
 * the user may publish to. In the account of the streams, a reader could have the server deliver stored bytes to any subject.
 * The orchestrator is in the account of the streams, because it creates them.
 */
export const ACCOUNTS: Readonly<Record<NatsUser, string>> = recordOf(natsUsers, (user) =>
  user === 'orchestrator' || user === 'topology' ? CORE : user.toUpperCase(),
);
const SERVICE_ACCOUNTS = SERVICES.map((service) => ACCOUNTS[service]);

export type Rule = { readonly allow: readonly string[] };
export type Permissions = { readonly publish: Rule; readonly subscribe: Rule };
export type PermissionTable = Readonly<Record<NatsUser, Permissions>>;

export type Import = {
  readonly kind: 'service' | 'stream';
  readonly from: string;
  /** The subject in the exporting account. */
  readonly subject: string;
  /** The subject in the importing account, if it is another. */
  readonly to?: string;
};
export type Export = Pick<Import, 'kind' | 'subject'> & { readonly accounts: readonly string[] };
export type Account = {
  readonly name: string;
  readonly users: readonly NatsUser[];
  readonly exports: readonly Export[];
  readonly imports: readonly Import[];
};
/** An account of others whose users may do as people do, on subjects with a prefix of their own. */
export type Guest = { readonly account: string; readonly prefix: string };
export type BusAccess = {
  readonly accounts: readonly Account[];
  readonly permissions: PermissionTable;
  /** What the accounts of guests import. */
  readonly guests: readonly { readonly account: string; readonly imports: readonly Import[] }[];
};

const requested = ({ sends }: Rights): readonly Sent[] =>
  sends.map((sent) => (typeof sent === 'string' ? { subject: sent, arrivesAs: sent } : sent));

/** The accounts that receive a subject: that of the service which answers, or that of the streams. */
const receiversOf = (subject: string): readonly string[] => {
  if (subject.startsWith('$SRV.')) return SERVICE_ACCOUNTS;
  const [, api, service] = subject.split('.');
  return api === 'api' ? [ACCOUNTS[service as ServiceName]] : [CORE];
};

/** Whether a subject can match both patterns. */
export const overlap = (one: string, other: string): boolean => {
  const [a, b] = [one.split('.'), other.split('.')];
  for (let i = 0; ; i += 1) {
    const [x, y] = [a[i], b[i]];
    if (x === undefined || y === undefined) return x === y;
    if (x === '>' || y === '>') return true;
    if (x !== y && x !== '*' && y !== '*') return false;
  }
};

/** An account without JetStream gets an import of its whole API from the server, unless it has this one. */
const INSTEAD_OF_THE_WHOLE_API = '$JS.API.INFO';

const importsOf = (account: string, members: readonly Member[]): readonly Import[] => {
  if (account === CORE) return apart(members.filter((each) => each.account === CORE).flatMap(requestsOf));
  const own = members.filter((each) => each.account === account);
  return apart([
    { kind: 'service', from: CORE, subject: INSTEAD_OF_THE_WHOLE_API },
    ...own.flatMap(requestsOf),
    ...own.flatMap((member) => watchesOf(member, members)),
  ]);
};

type Holder = { readonly account: string; readonly rights: Rights };
type Member = Holder & { readonly user: NatsUser };

const watchesOf = ({ account, rights }: Holder, members: readonly Member[]): readonly Import[] =>
  rights.watches.flatMap((subject) =>
    SERVICE_ACCOUNTS.filter((from) => from !== account && publishes(from, subject, members)).map(
      (from): Import => ({ kind: 'stream', from, subject }),
    ),
  );

const guestImports = ({ account, prefix }: Guest, members: readonly Member[]): readonly Import[] => {
  const holder = { account, rights: guestRights };
  return apart([...requestsOf(holder), ...watchesOf(holder, members)]).map((each) => ({
    ...each,
    to: `${prefix}.${each.to ?? each.subject}`,
  }));
};

const requestsOf = ({ account, rights }: Holder): readonly Import[] =>
  requested(rights).flatMap(({ subject, arrivesAs, at }) =>
    arrivesAs === null
      ? []
      : (at === undefined ? receiversOf(arrivesAs) : [ACCOUNTS[at]])
          .filter((from) => from !== account)
          .map((from): Import => ({
            kind: 'service',
            from,
            subject: arrivesAs,
            ...(subject !== arrivesAs && { to: subject }),
          })),
  );

/** Whether users of the account publish on such a subject. The server publishes its advisories in that of the streams. */
const publishes = (account: string, subject: string, members: readonly Member[]): boolean =>
  subject === ADVISORIES
    ? account === CORE
    : members.some(
        (member) =>
          member.account === account && member.rights.sends.some((sent) => overlap(subjectOf(sent), subject)),
      );
const subjectOf = (sent: string | Sent): string => (typeof sent === 'string' ? sent : sent.subject);

const apart = (imports: readonly Import[]): readonly Import[] => [
  ...new Map(imports.map((each) => [JSON.stringify(each), each])).values(),
];

/** Exactly the subjects that other accounts import, each for those accounts. */
export const exportsOf = (
  account: string,
  imports: ReadonlyMap<string, readonly Import[]>,
): readonly Export[] => {
  const exported = new Map<string, { kind: Import['kind']; subject: string; accounts: string[] }>();
  for (const [importer, all] of imports)
    for (const { kind, from, subject } of all) {
      if (from !== account) continue;
      const key = `${kind} ${subject}`;
      const there = exported.get(key) ?? { kind, subject, accounts: [] };
      if (!there.accounts.includes(importer)) there.accounts.push(importer);
      exported.set(key, there);
    }
  return [...exported.values()];
};

/** The server puts a subject of its own in place of the reply subject of another account. */
const ANSWERS = '_R_.>';

const permissionsOf = ({ receives, watches, answers, sends }: Rights): Permissions => ({
  publish: { allow: [...new Set([...sends.map(subjectOf), ...(answers ? [ANSWERS] : [])])] },
  subscribe: { allow: [...receives, ...watches] },
});

const EVERYTHING: Permissions = { publish: { allow: ['>'] }, subscribe: { allow: ['>'] } };

/**
 * Accounts, and the publish and subscribe rights of their users, from one table: ./permissions.ts. Only the subjects in
 * this table cross the border of an account. `almighty`: users with all rights in the account of the streams, for tests.
 */
export const busAccess = (
  declared: Declared = { streams, consumers },
  {
    almighty = [],
    guests = [],
  }: { readonly almighty?: readonly NatsUser[]; readonly guests?: readonly Guest[] } = {},
): BusAccess => {
  const members = natsUsers
    .filter((user) => !almighty.includes(user))
    .map((user): Member => ({ user, account: ACCOUNTS[user], rights: rightsOf(user, declared) }));
  const names = [...new Set(members.map(({ account }) => account))];
  const own = names.map((name) => [name, importsOf(name, members)] as const);
  const outside = guests.map((guest) => [guest.account, guestImports(guest, members)] as const);
  const imports = new Map([...own, ...outside]);
  return {
    accounts: names.map((name) => ({
      name,
      users: [
        ...members.filter(({ account }) => account === name).map(({ user }) => user),
        ...(name === CORE ? almighty : []),
      ],
      exports: exportsOf(name, imports),
      imports: imports.get(name) ?? [],
    })),
    permissions: recordOf(natsUsers, (user) =>
      almighty.includes(user) ? EVERYTHING : permissionsOf(rightsOf(user, declared)),
    ),
    guests: outside.map(([account, given]) => ({ account, imports: given })),
  };
};

/** The same with a prefix before each account name, for a server with accounts of others. */
export const withNames = (prefix: string, access: BusAccess): BusAccess => {
  const own = new Set(access.accounts.map(({ name }) => name));
  const named = (name: string): string => (own.has(name) ? `${prefix}_${name}` : name);
  const renamed = (imports: readonly Import[]): readonly Import[] =>
    imports.map((each) => ({ ...each, from: named(each.from) }));
  return {
    permissions: access.permissions,
    accounts: access.accounts.map(({ name, users, exports, imports }) => ({
      name: named(name),
      users,
      exports: exports.map((each) => ({ ...each, accounts: each.accounts.map(named) })),
      imports: renamed(imports),
    })),
    guests: access.guests.map(({ account, imports }) => ({ account, imports: renamed(imports) })),
  };
};
