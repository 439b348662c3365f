import { timingSafeEqual } from 'node:crypto';
import type { Principal } from '../../../approval/state.ts';
import type { KnownPrincipal } from './principals-file.ts';

/** People in the directory, by each of their credentials. */
export type Directory = {
  readonly people: readonly Principal[];
  /** By the SHA-256 of a token. */
  readonly ofToken: (hash: Buffer) => Principal | undefined;
  readonly ofName: (name: string) => Principal | undefined;
  readonly ofDiscord: (user: string) => Principal | undefined;
  /** By the subject of OIDC tokens. */
  readonly ofOidc: (subject: string) => Principal | undefined;
};

export const createDirectory = (known: readonly KnownPrincipal[]): Directory => {
  const people = known.map(({ name, groups, roles, ...shown }) => {
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
    // Every hash is compared in constant time, so that timing reveals nothing.
    ofToken: (hash) => tokens.filter((candidate) => timingSafeEqual(candidate.hash, hash))[0]?.principal,
    ofName: tableOf(({ principal }) => principal.name),
    ofDiscord: tableOf(({ discord }) => discord),
    ofOidc: tableOf(({ oidc }) => oidc),
  };
};
