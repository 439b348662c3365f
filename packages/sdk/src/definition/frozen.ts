import type { Json } from '@holdpoint/contracts/values/json';
import type { z } from 'zod';

type AnyJson = z.core.util.JSONType;
type Atom = string | number | boolean | null | undefined | ((...args: never) => unknown);

/** A value that is only read, down to its leaves. Where any JSON may stand, it is the JSON of the contracts. */
export type Frozen<T> = unknown extends T
  ? T
  : [AnyJson] extends [T]
    ? Json | Exclude<T, AnyJson>
    : T extends Atom
      ? T
      : { readonly [Name in keyof T]: Frozen<T[Name]> };

/** A draft of a value: what is only read elsewhere is changed here. */
export type Draft<T> = unknown extends T
  ? T
  : [AnyJson] extends [T]
    ? T
    : T extends Atom
      ? T
      : { -readonly [Name in keyof T]: Draft<T[Name]> };
