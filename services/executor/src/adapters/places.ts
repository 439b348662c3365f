import type { Place } from '../domain/effect.ts';

type Waiting = { readonly uses: string; readonly give: (place: Place) => void };

/** What starts programs is heavy, and has places of its own: so it keeps nothing else waiting. */
export type CommandPlaces = { readonly count: number; readonly isCommand: (uses: string) => boolean };

type Kind = 'effects' | 'commands';

/** A fixed number of places for running effects: who has one may begin, everybody else stays prepared in the ledger. */
export const createPlaces = (worker: string, count: number, commands?: CommandPlaces) => {
  const counts: Readonly<Record<Kind, number>> = { effects: count, commands: commands?.count ?? 0 };
  const taken = new Map<number, Kind>();
  const inUseOf: Record<Kind, number> = { effects: 0, commands: 0 };
  const waiting: Record<Kind, Waiting[]> = { effects: [], commands: [] };
  let last = 0;
  let open = true;

  const kindOf = (uses: string): Kind => (commands?.isCommand(uses) === true ? 'commands' : 'effects');

  const take = (uses: string): Place | undefined => {
    const kind = kindOf(uses);
    if (!open || inUseOf[kind] >= counts[kind]) return undefined;
    last += 1;
    taken.set(last, kind);
    inUseOf[kind] += 1;
    return { worker, slot: last };
  };

  /** For whoever has waited longest. */
  const offer = (kind: Kind): boolean => {
    const [next] = waiting[kind];
    const place = next && take(next.uses);
    if (place === undefined) return false;
    waiting[kind].shift()?.give(place);
    return true;
  };

  return {
    take,
    /** Gives a place back, and so to whoever waits longest. Giving it back twice does nothing. */
    free: (slot: number): void => {
      const kind = taken.get(slot);
      if (kind === undefined) return;
      taken.delete(slot);
      inUseOf[kind] -= 1;
      offer(kind);
    },
    /** Calls back with a place: now, or when one is free. */
    wait: (uses: string, give: (place: Place) => void): void => {
      const place = take(uses);
      if (place === undefined) waiting[kindOf(uses)].push({ uses, give });
      else give(place);
    },
    inUse: (): number => taken.size,
    /** While they are closed nothing begins; what has begun goes on. */
    close: (): void => {
      open = false;
    },
    open: (): void => {
      open = true;
      for (const kind of ['effects', 'commands'] as const) while (offer(kind));
    },
    areOpen: (): boolean => open,
  };
};
export type Places = ReturnType<typeof createPlaces>;
