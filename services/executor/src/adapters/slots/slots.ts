import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import type { Slot } from '../../effect/decide.ts';
import { createFairQueue } from './fair-queue.ts';

type OnSlot = (place: Slot) => void;

/** What starts programs is heavy, and has places of its own: so it keeps nothing else waiting. */
export type CommandSlots = { readonly count: number; readonly isCommand: (uses: string) => boolean };

/** What orders talk to, and how many of them may do so at a time: none while its circuit is open. */
export type Targets = {
  /** Undefined for what talks to nothing that has a name: it has no limit of its own. */
  readonly of: (order: RunEffect) => string | undefined;
  readonly limitOf: (target: string) => number;
};

const KINDS = ['effects', 'commands'] as const;
type Kind = (typeof KINDS)[number];

/** All of an order that counts here: the ledger has the rest. */
type SlotRequest = { readonly kind: Kind; readonly task: string; readonly target: string | undefined };

type Waiting = { readonly wish: SlotRequest; readonly give: OnSlot };

const NO_TARGETS: Targets = { of: () => undefined, limitOf: () => Infinity };

/**
 * A fixed number of places for running effects: who has one may begin, everybody else stays prepared in the ledger. Of those
 * who wait, one of each task is next in turn; nobody waits beside a place that is free for him.
 */
export const createSlots = (
  { worker, journal }: Omit<Slot, 'slot'>,
  count: number,
  commands?: CommandSlots,
  targets: Targets = NO_TARGETS,
) => {
  const counts: Readonly<Record<Kind, number>> = { effects: count, commands: commands?.count ?? 0 };
  const taken = new Map<number, SlotRequest>();
  const inUseOf: Record<Kind, number> = { effects: 0, commands: 0 };
  const inUseAt = new Map<string, number>();
  const waiting = { effects: createFairQueue<Waiting>(), commands: createFairQueue<Waiting>() } as const;
  let last = 0;
  let open = true;
  let drained = false;
  let serving = false;
  let again = false;

  const requestOf = (order: RunEffect): SlotRequest => ({
    kind: commands?.isCommand(order.effect.uses) === true ? 'commands' : 'effects',
    task: order.effect.task,
    target: targets.of(order),
  });

  const hasRoom = (target: string): boolean => (inUseAt.get(target) ?? 0) < targets.limitOf(target);

  /** Whoever waits for a target is asked only while it has room. */
  const look = (target: string): void => {
    const room = hasRoom(target);
    for (const kind of KINDS)
      if (room) waiting[kind].unblock(target);
      else waiting[kind].block(target);
  };

  const countAt = (target: string | undefined, more: 1 | -1): void => {
    if (target === undefined) return;
    const now = (inUseAt.get(target) ?? 0) + more;
    if (now === 0) inUseAt.delete(target);
    else inUseAt.set(target, now);
    look(target);
  };

  const isFree = (kind: Kind): boolean => open && inUseOf[kind] < counts[kind];

  const occupy = (wish: SlotRequest): Slot => {
    last += 1;
    taken.set(last, wish);
    inUseOf[wish.kind] += 1;
    countAt(wish.target, 1);
    return { worker, slot: last, ...(journal !== undefined && { journal }) };
  };

  const takeFor = (wish: SlotRequest): Slot | undefined =>
    isFree(wish.kind) && (wish.target === undefined || hasRoom(wish.target)) ? occupy(wish) : undefined;

  /** Gives places to those who wait. Whoever has one may give it back at once: that is served in the same round. */
  const serve = (): void => {
    again = true;
    if (serving) return;
    serving = true;
    try {
      while (again) {
        again = false;
        for (const kind of KINDS)
          for (let next = nextOf(kind); next !== undefined; next = nextOf(kind)) next();
      }
    } finally {
      serving = false;
    }
  };

  const nextOf = (kind: Kind): (() => void) | undefined => {
    if (!isFree(kind)) return undefined;
    const next = waiting[kind].next();
    return next && (() => next.give(occupy(next.wish)));
  };

  return {
    take: (order: RunEffect): Slot | undefined => takeFor(requestOf(order)),
    /** Gives a place back, and so to whoever is next. Giving it back twice does nothing. */
    free: (slot: number): void => {
      const wish = taken.get(slot);
      if (wish === undefined) return;
      taken.delete(slot);
      inUseOf[wish.kind] -= 1;
      countAt(wish.target, -1);
      serve();
    },
    /** Calls back with a place: now, or when one is free. Nothing of the order is kept meanwhile but task and target. */
    wait: (order: RunEffect, give: OnSlot): void => {
      const wish = requestOf(order);
      const place = takeFor(wish);
      if (place !== undefined) return give(place);
      if (wish.target !== undefined) look(wish.target);
      waiting[wish.kind].join(wish.task, wish.target, { wish, give });
    },
    inUse: (): number => taken.size,
    waiting: (): number => waiting.effects.size() + waiting.commands.size(),
    /** How many may talk to a target has changed. */
    changed: (target: string): void => {
      look(target);
      serve();
    },
    isWaitedFor: (target: string): boolean => KINDS.some((kind) => waiting[kind].isWaitedFor(target)),
    /** While they are closed nothing begins; what has begun goes on. */
    close: (): void => {
      open = false;
    },
    open: (): void => {
      if (drained) return;
      open = true;
      serve();
    },
    /** The executor stops: from now on nothing begins, whoever opens them. */
    drain: (): void => {
      open = false;
      drained = true;
    },
    areOpen: (): boolean => open,
  };
};
export type Slots = ReturnType<typeof createSlots>;
