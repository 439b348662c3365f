import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { isUnverified } from '@holdpoint/contracts/values/person';
import type { Slot } from '../../effect/decide.ts';
import { createFairQueue, type Who } from './fair-queue.ts';

type OnSlot = (slot: Slot) => void;

/** Effects that start processes are heavy. They have slots of their own, so that other effects do not wait for them. */
export type CommandSlots = { readonly count: number; readonly isCommand: (uses: string) => boolean };

/** The targets of orders, and how many orders may use one at a time: none while its circuit is open. */
export type Targets = {
  /** Undefined for an order without a named target: it has no such limit. */
  readonly of: (order: RunEffect) => string | undefined;
  readonly limitOf: (target: string) => number;
};

const KINDS = ['effects', 'commands'] as const;
type Kind = (typeof KINDS)[number];

/** The properties of an order that decide about its slot. The ledger has the rest. */
type SlotRequest = Who & { readonly kind: Kind; readonly target: string | undefined };

type Waiter = { readonly request: SlotRequest; readonly onSlot: OnSlot };

/** One requester leaves some places of processes to others: sleeping scripts must not stop the work of all. */
const shareOf = (count: number): number =>
  count <= 1 ? count : Math.min(count - 1, Math.ceil(count * 0.75));

/** Unverified names count as one requester: they cost nothing. */
const requesterOf = ({ requester, effect }: RunEffect): string =>
  requester === undefined ? effect.task : isUnverified(requester) ? 'unverified' : requester;

const NO_TARGETS: Targets = { of: () => undefined, limitOf: () => Infinity };

/**
 * A fixed number of slots for running effects. An order with a slot may begin; all others stay prepared in the ledger. Waiting
 * requesters take turns, then their tasks.
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
  /** Places of processes by requester. */
  const placesOf = new Map<string, number>();
  const share = shareOf(counts.commands);
  const waiting = { effects: createFairQueue<Waiter>(), commands: createFairQueue<Waiter>() } as const;
  let last = 0;
  let open = true;
  let drained = false;
  let serving = false;
  let again = false;

  const requestOf = (order: RunEffect): SlotRequest => ({
    kind: commands?.isCommand(order.effect.uses) === true ? 'commands' : 'effects',
    requester: requesterOf(order),
    task: order.effect.task,
    target: targets.of(order),
  });

  const hasRoom = (target: string): boolean => (inUseAt.get(target) ?? 0) < targets.limitOf(target);

  /** Orders for a target are served only while it has room. */
  const checkRoom = (target: string): void => {
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
    checkRoom(target);
  };

  const hasShare = ({ kind, requester }: SlotRequest): boolean =>
    kind === 'effects' || (placesOf.get(requester) ?? 0) < share;

  const countFor = ({ kind, requester }: SlotRequest, more: 1 | -1): void => {
    if (kind === 'effects') return;
    const now = (placesOf.get(requester) ?? 0) + more;
    if (now === 0) placesOf.delete(requester);
    else placesOf.set(requester, now);
    if (now < share) waiting.commands.unblockRequester(requester);
    else waiting.commands.blockRequester(requester);
  };

  const isFree = (kind: Kind): boolean => open && inUseOf[kind] < counts[kind];

  const occupy = (request: SlotRequest): Slot => {
    last += 1;
    taken.set(last, request);
    inUseOf[request.kind] += 1;
    countAt(request.target, 1);
    countFor(request, 1);
    return { worker, slot: last, ...(journal !== undefined && { journal }) };
  };

  const takeFor = (request: SlotRequest): Slot | undefined =>
    isFree(request.kind) && hasShare(request) && (request.target === undefined || hasRoom(request.target))
      ? occupy(request)
      : undefined;

  /** Passes free slots to waiting orders. A slot that a callback frees is passed on in the same round. */
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
    return next && (() => next.onSlot(occupy(next.request)));
  };

  return {
    take: (order: RunEffect): Slot | undefined => takeFor(requestOf(order)),
    /** Frees a slot for the next order. Freeing it twice does nothing. */
    free: (slot: number): void => {
      const request = taken.get(slot);
      if (request === undefined) return;
      taken.delete(slot);
      inUseOf[request.kind] -= 1;
      countAt(request.target, -1);
      countFor(request, -1);
      serve();
    },
    /** Calls back with a slot: now, or when one is free. Keeps only the task and the target of the order. */
    wait: (order: RunEffect, onSlot: OnSlot): void => {
      const request = requestOf(order);
      const slot = takeFor(request);
      if (slot !== undefined) return onSlot(slot);
      if (request.target !== undefined) checkRoom(request.target);
      waiting[request.kind].join(request, request.target, { request, onSlot });
    },
    inUse: (): number => taken.size,
    waiting: (): number => waiting.effects.size() + waiting.commands.size(),
    /** The limit of a target has changed. */
    changed: (target: string): void => {
      checkRoom(target);
      serve();
    },
    isWaitedFor: (target: string): boolean => KINDS.some((kind) => waiting[kind].isWaitedFor(target)),
    /** While the slots are closed no effect begins; running effects continue. */
    close: (): void => {
      open = false;
    },
    open: (): void => {
      if (drained) return;
      open = true;
      serve();
    },
    /** Closes the slots for good: the executor stops. */
    drain: (): void => {
      open = false;
      drained = true;
    },
    areOpen: (): boolean => open,
  };
};
export type Slots = ReturnType<typeof createSlots>;
