import type { Json } from '@holdpoint/contracts/values/json';
import type { z } from 'zod';

type AnyJson = z.core.util.JSONType;
type Atom = string | number | boolean | null | undefined | ((...args: never) => unknown);

/** A deeply read-only value. Arbitrary JSON becomes the `Json` type of the contracts. */
export type Frozen<T> = unknown extends T
  ? T
  : [AnyJson] extends [T]
    ? Json | Exclude<T, AnyJson>
    : T extends Atom
      ? T
      : { readonly [Name in keyof T]: Frozen<T[Name]> };

/** The mutable form of a value inside a draft. */
export type Draft<T> = unknown extends T
  ? T
  : [AnyJson] extends [T]
    ? T
    : T extends Atom
      ? T
      : { -readonly [Name in keyof T]: Draft<T[Name]> };
