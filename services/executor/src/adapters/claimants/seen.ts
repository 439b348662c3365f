import type { ApiRequest, ApiResponse } from '@holdpoint/contracts/catalog/api';
import type { ClaimantView, RemoteHolder } from '@holdpoint/contracts/effect/remote';
import type { Hint } from './hints.ts';

type Seen = Omit<ClaimantView, 'holds' | 'isWaiting'> & {
  readonly claim: string;
  /** Epoch milliseconds. */
  readonly waitsUntil: number;
};

/** An order in the hands of a claimant. */
type HeldOrder = ClaimantView['holds'][number] & { readonly holder: RemoteHolder };

/** Claimants that are remembered. */
const SEEN_MAX = 2_000;
/** A claimant that holds nothing is forgotten after this. */
const SEEN_MS = 600_000;

const PAGE = 50;

/** A name alone is no place: programs share one. */
const placeOf = ({ claimant, x }: Pick<ClaimantView, 'claimant' | 'x'>): string => `${claimant} ${x}`;

/** The programs that claimed lately, for people. */
export const createSeen = (now: () => number) => {
  const seen = new Map<string, Seen>();

  const forget = (before: number): void => {
    for (const [x, each] of seen) {
      if (seen.size <= SEEN_MAX && each.seenAt >= before) return;
      seen.delete(x);
    }
  };

  const viewsOf = (held: readonly HeldOrder[]): readonly ClaimantView[] => {
    const at = now();
    const orders = Map.groupBy(held, ({ holder }) => holder.x);
    const holdsOf = (x: string): ClaimantView['holds'] =>
      (orders.get(x) ?? []).map(({ holder: _, ...each }) => each);
    const known = [...seen.values()].map(({ claim: _, waitsUntil, ...view }) => ({
      ...view,
      isWaiting: waitsUntil > at,
      holds: holdsOf(view.x),
    }));
    // An executor that has just started has not seen them claim.
    const others = [...orders].flatMap(([x, own]) => {
      const holder = own.at(-1)?.holder;
      if (holder === undefined || seen.has(x)) return [];
      const { claimant, principal, token, from, since } = holder;
      return {
        claimant,
        x,
        principal,
        ...(token !== undefined && { token }),
        ...(from && { from }),
        uses: [...new Set(own.map(({ uses }) => uses))],
        isWaiting: false,
        since,
        seenAt: since,
        holds: holdsOf(x),
      };
    });
    return [...known, ...others];
  };

  return {
    claimed: ({ claim, who, uses, waitMs }: Extract<Hint, { kind: 'claim' }>): void => {
      const at = now();
      const since = seen.get(who.x)?.since ?? at;
      // The latest are the last.
      seen.delete(who.x);
      seen.set(who.x, { ...who, claim, uses: [...uses], since, seenAt: at, waitsUntil: at + waitMs });
      forget(at - SEEN_MS);
    },
    answered: (x: string, claim: string): void => {
      const known = seen.get(x);
      if (known?.claim === claim) seen.set(x, { ...known, waitsUntil: 0 });
    },
    /** They by name, and the orders in their hands. */
    page: (
      held: readonly HeldOrder[],
      { after = '', limit = PAGE }: ApiRequest<'executor', 'claimants'>,
    ): ApiResponse<'executor', 'claimants'> => {
      const views = viewsOf(held)
        .map((view) => ({ view, place: placeOf(view) }))
        .filter(({ place }) => place > after)
        .toSorted((a, b) => (a.place < b.place ? -1 : 1));
      const shown = views.slice(0, limit);
      const next = views.length > shown.length ? shown.at(-1)?.place : undefined;
      return { items: shown.map(({ view }) => view), ...(next !== undefined && { next }) };
    },
  };
};
