import type { EffectId } from '@holdpoint/contracts/values/ids';

/** What an order waits for: a claimant of its label, for a run or for a probe. */
export type Wanted = { readonly uses: string; readonly to: 'run' | 'probe' };

export type WaitingOrder = Wanted & {
  readonly id: EffectId;
  readonly task: string;
  /** Size of its answer. */
  readonly bytes: number;
  /** The signature whose key must be known. */
  readonly grant: string | undefined;
};

/** What a claim takes. */
export type Taker = {
  readonly wants: readonly Wanted[];
  /** Whether it takes one more order of this size now. */
  readonly hasRoom: (bytes: number) => boolean;
};

const keyOf = ({ uses, to }: Wanted): string => `${to} ${uses}`;

/** Waiting orders by label, where tasks take turns; and waiting claims by label, where the first is served first. */
export const createMatching = <Claim extends Taker>(ordersMax: number) => {
  /** By label, then by task. */
  const orders = new Map<string, Map<string, WaitingOrder[]>>();
  const known = new Map<EffectId, Wanted['to']>();
  const claims = new Map<string, Set<Claim>>();

  const next = (label: string): WaitingOrder | undefined => {
    const tasks = orders.get(label);
    const [first] = tasks ?? [];
    const order = first?.[1][0];
    return order;
  };

  /** Removes the next order. Its task moves behind the others. */
  const shift = (label: string, order: WaitingOrder): void => {
    const tasks = orders.get(label);
    const line = tasks?.get(order.task);
    if (tasks === undefined || line === undefined) return;
    line.shift();
    known.delete(order.id);
    tasks.delete(order.task);
    if (line.length > 0) tasks.set(order.task, line);
    if (tasks.size === 0) orders.delete(label);
  };

  return {
    /** Adds an order. Nothing is lost when there is no room: claims find it in the ledger. */
    add: (order: WaitingOrder): void => {
      if (known.get(order.id) === order.to || known.size >= ordersMax) return;
      known.set(order.id, order.to);
      const label = keyOf(order);
      const tasks = orders.get(label) ?? new Map<string, WaitingOrder[]>();
      orders.set(label, tasks);
      const line = tasks.get(order.task);
      if (line === undefined) tasks.set(order.task, [order]);
      else line.push(order);
    },
    /** The next order for a claim, removed from the queue. */
    takeFor: ({ wants, hasRoom }: Taker): WaitingOrder | undefined => {
      for (const wanted of wants) {
        const label = keyOf(wanted);
        const order = next(label);
        if (order === undefined || !hasRoom(order.bytes)) continue;
        shift(label, order);
        return order;
      }
      return undefined;
    },
    /** The first claim that takes the order. */
    claimFor: (order: Wanted & Pick<WaitingOrder, 'bytes'>): Claim | undefined => {
      for (const claim of claims.get(keyOf(order)) ?? []) if (claim.hasRoom(order.bytes)) return claim;
      return undefined;
    },
    isKnown: (id: EffectId): boolean => known.has(id),
    join: (claim: Claim): void => {
      for (const wanted of claim.wants) {
        const label = keyOf(wanted);
        const waiting = claims.get(label);
        if (waiting === undefined) claims.set(label, new Set([claim]));
        else waiting.add(claim);
      }
    },
    leave: (claim: Claim): void => {
      for (const wanted of claim.wants) {
        const label = keyOf(wanted);
        const waiting = claims.get(label);
        waiting?.delete(claim);
        if (waiting?.size === 0) claims.delete(label);
      }
    },
    waiting: (): number => known.size,
  };
};
