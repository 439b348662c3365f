import type { AggregateKind } from '@holdpoint/runtime/engine/kinds';

/** A kind of aggregate whose types are known to its service alone. */
export type Kind = AggregateKind<unknown, unknown, { readonly type: string }, unknown>;

/** The same kinds, each changed. */
export const mapKinds = <All extends object>(kinds: All, change: (kind: Kind, name: string) => Kind): All =>
  Object.fromEntries(Object.entries(kinds).map(([name, kind]) => [name, change(kind as Kind, name)])) as All;
