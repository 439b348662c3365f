import { timingSafeEqual } from 'node:crypto';
import type { Principal } from '../../../approval/state.ts';
import type { StoredPerson } from '../../../people/people.ts';
import type { KnownPrincipal } from './principals-file.ts';

/** People in the directory, by each of their credentials. */
export type Directory = {
  readonly people: readonly Principal[];
  /** Whether the principals file lists the name. */
  readonly isInFile: (name: string) => boolean;
  /** The name was removed, and nobody has it now. */
  readonly isRemoved: (name: string) => boolean;
  /** Whether the person was removed at or after this time, so that what they had then is over. */
  readonly wasRemovedSince: (name: string, time: number) => boolean;
  /** By the SHA-256 of a token. */
  readonly ofToken: (hash: Buffer) => Principal | undefined;
  readonly ofName: (name: string) => Principal | undefined;
  readonly ofDiscord: (user: string) => Principal | undefined;
  /** By the subject of OIDC tokens. */
  readonly ofOidc: (subject: string) => Principal | undefined;
};

/** A name in the file means the person of the file: the store is not asked about it. */
export const createDirectory = (
  known: readonly KnownPrincipal[],
  storedPeople: readonly StoredPerson[] = [],
): Directory => {
  const inFile = new Set(known.map(({ name }) => name));
  const stored = new Map(
    storedPeople.filter(({ name }) => !inFile.has(name)).map((person) => [person.name, person]),
  );
  const active = [...stored.values()].filter(({ removedBy }) => removedBy === undefined);
  const entries: readonly KnownPrincipal[] = [
    ...known,
    ...active.map(({ name, groups }) => ({ name, groups: [...groups] })),
  ];
  const people = entries.map(({ name, groups, roles, ...shown }) => {
    const principal: Principal = { name, groups, ...(roles && { roles }) };
    return { principal, ...shown };
  });
  const tableOf = (keyOf: (person: (typeof people)[number]) => string | undefined) => {
    const table = new Map(people.map((person) => [keyOf(person), person.principal]));
    return (key: string): Principal | undefined => table.get(key);
  };
  const tokens = people.flatMap(({ tokenSha256, principal }) =>
    tokenSha256 === undefined ? [] : [{ principal, hash: Buffer.from(tokenSha256, 'hex') }],
  );
  return {
    people: people.map(({ principal }) => principal),
    isInFile: (name) => inFile.has(name),
    isRemoved: (name) => stored.get(name)?.removedBy !== undefined,
    wasRemovedSince: (name, time) => (stored.get(name)?.removedAt ?? -Infinity) >= time,
    // Every hash is compared in constant time, so that timing reveals nothing.
    ofToken: (hash) => tokens.filter((candidate) => timingSafeEqual(candidate.hash, hash))[0]?.principal,
    ofName: tableOf(({ principal }) => principal.name),
    ofDiscord: tableOf(({ discord }) => discord),
    ofOidc: tableOf(({ oidc }) => oidc),
  };
};
