import { Risk, riskOf } from '@holdpoint/contracts/approval/views';
import type { ListApprovals } from '@holdpoint/contracts/approval/queries';
import { EffectClass, SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import type { Order, Cursor } from './inbox-cursor.ts';
import { START } from './inbox-cursor.ts';

/** How the database knows a risk: the highest is 0. */
export const rankOf = (risk: Risk): number => Risk.options.toReversed().indexOf(risk);

/** Every kind with each risk that it can be of. */
const PAIRS: readonly { readonly kind: string; readonly rank: number }[] = [
  ...SideEffectKind.options,
  'work' as const,
].flatMap((kind) => {
  const ranks = new Set(EffectClass.options.map((effectClass) => rankOf(riskOf({ kind, effectClass }))));
  return [...ranks].map((rank) => ({ kind, rank }));
});

/** Text as the database keeps it: the way JSON writes it, which holds whatever a text may. */
export const written = (text: string): string => JSON.stringify(text);

/** The names that are asked for; the entries of everybody, when none are. */
const membersOf = (audience: readonly string[] | undefined): readonly string[] =>
  audience === undefined ? [''] : [...new Set(audience)].map(written);

/** A part of the inbox that stands together in order, and from where on it is read. */
export type Branch = {
  readonly member: string;
  readonly risk: number;
  readonly kind: string;
  /** Its place among the others. */
  readonly rank: number;
  readonly at: number;
  readonly id: string;
};

export type Filter = Pick<ListApprovals, 'audience' | 'kind' | 'risk' | 'requester'>;

/** Whether it takes more than the names to find what is asked for in order. */
export const needsKindAndRisk = ({ kind, risk, requester }: Filter, order: Order): boolean =>
  order === 'risk' || kind !== undefined || risk !== undefined || requester !== undefined;

/** What has to be read, behind a place, for what is asked for: merged, it is all of it in order. */
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
