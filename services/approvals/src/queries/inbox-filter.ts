import { Risk, riskOf } from '@holdpoint/contracts/approval/views';
import type { ListApprovals } from '@holdpoint/contracts/approval/queries';
import { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import { searchable } from '@holdpoint/runtime/store/search-words';
import type { Order, Cursor } from './inbox-cursor.ts';
import { START } from './inbox-cursor.ts';

/** Rank of a risk in the database: the highest is 0. */
export const rankOf = (risk: Risk): number => Risk.options.toReversed().indexOf(risk);

/** Every kind with each risk that it can have. The definition of a remote capability can raise it. */
const PAIRS: readonly { readonly kind: string; readonly rank: number }[] = [
  ...SideEffectKind.options,
  'work' as const,
].flatMap((kind) => {
  const ranks = new Set(EffectClass.options.map((effectClass) => rankOf(riskOf({ kind, effectClass }))));
  if (kind !== 'work') ranks.add(rankOf('high'));
  return [...ranks].map((rank) => ({ kind, rank }));
});

/** Text as JSON, as the database stores it. */
export const written = (text: string): string => JSON.stringify(text);

/** Longer targets are searched by their beginning. */
export const TARGET_MAX = 2_000;

type Searched = {
  readonly task: string;
  readonly title: string;
  readonly effect: { readonly uses: string; readonly target: string };
};

/** The words by which a search finds a request, pending or decided. */
export const requestWords = ({ task, title, effect }: Searched): string =>
  searchable(title, effect.target.slice(0, TARGET_MAX), effect.uses, task);

/** In place of a member: the row for lists of all requests. */
export const EVERYONE = '';

/** The members to read; the entries for everyone when there is no audience. */
const membersOf = (audience: readonly string[] | undefined): readonly string[] =>
  audience === undefined ? [EVERYONE] : [...new Set(audience)].map(written);

/** A part of the inbox index that is already in order, and where reading starts. */
export type Branch = {
  readonly member: string;
  readonly risk: number;
  readonly kind: string;
  /** Sort key before `at`. */
  readonly rank: number;
  readonly at: number;
  readonly id: string;
};

export type Filter = Pick<ListApprovals, 'audience' | 'kind' | 'risk' | 'requester'>;

/** Whether the filter needs the index by kind and risk. */
export const needsKindAndRisk = ({ kind, risk, requester }: Filter, order: Order): boolean =>
  order === 'risk' || kind !== undefined || risk !== undefined || requester !== undefined;

/** The index ranges to read: merged, they give the filtered list in order. */
export const branchesOf = (filter: Filter, order: Order, from: Cursor): readonly Branch[] => {
  const pairs = needsKindAndRisk(filter, order)
    ? PAIRS.filter(({ kind }) => filter.kind === undefined || kind === filter.kind).filter(
        ({ rank }) => filter.risk === undefined || rank === rankOf(filter.risk),
      )
    : [{ kind: '', rank: 0 }];
  return membersOf(filter.audience).flatMap((member) =>
    pairs.flatMap(({ kind, rank: risk }): readonly Branch[] => {
      const rank = order === 'risk' ? risk : 0;
      if (rank < from.rank) return [];
      const { at, id } = rank === from.rank ? from : START;
      return [{ member, risk, kind, rank, at, id }];
    }),
  );
};
