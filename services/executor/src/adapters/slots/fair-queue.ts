import { createHeap } from './heap.ts';

type Waiter<Item> = { readonly item: Item; readonly number: number };

/** A requester with waiters. The lowest number is next; a served requester moves behind all others. */
type Turn<Item> = { number: number; waiting: number; readonly lines: Set<Line<Item>> };

/** The waiters of one requester for one target: its tasks take turns, and each task keeps its order of arrival. */
type Line<Item> = {
  at: number;
  readonly requester: string;
  readonly group: Group<Item>;
  readonly turn: Turn<Item>;
  /** The requester's turn when the line was last sorted: never later than the actual turn. */
  known: number;
  /** By task; the first task is next. */
  readonly tasks: Map<string, Waiter<Item>[]>;
};

/** All waiters for one target. */
type Group<Item> = {
  at: number;
  readonly target: string | undefined;
  /** Lines of requesters that are not blocked. */
  readonly lines: ReturnType<typeof createHeap<Line<Item>>>;
  readonly ofRequester: Map<string, Line<Item>>;
};

const headOf = <Item>(line: Line<Item>): number => {
  const [first] = line.tasks.values();
  return first?.[0]?.number ?? 0;
};

const comesFirst = <Item>(one: Line<Item>, other: Line<Item>): boolean =>
  one.known === other.known ? headOf(one) < headOf(other) : one.known < other.known;

export type Who = { readonly requester: string; readonly task: string };

/**
 * Waiters for slots of one kind: requesters take turns, then the tasks of a requester. Waiters for a blocked target, and
 * those of a blocked requester, are skipped and delay no others. Every step takes logarithmic time.
 */
export const createFairQueue = <Item>() => {
  const turns = new Map<string, Turn<Item>>();
  const groups = new Map<string | undefined, Group<Item>>();
  const blocked = new Set<string>();
  const blockedRequesters = new Set<string>();
  const ready = createHeap<Group<Item>>((one, other) => {
    const [mine, theirs] = [one.lines.top(), other.lines.top()];
    return mine !== undefined && theirs !== undefined && comesFirst(mine, theirs);
  });
  let turnsGiven = 0;
  let joined = 0;
  let size = 0;

  const nextTurn = (): number => (turnsGiven += 1);

  const isBlocked = (target: string | undefined): boolean => target !== undefined && blocked.has(target);

  const groupOf = (target: string | undefined): Group<Item> => {
    const known = groups.get(target);
    if (known !== undefined) return known;
    const group = { at: -1, target, lines: createHeap<Line<Item>>(comesFirst), ofRequester: new Map() };
    groups.set(target, group);
    return group;
  };

  /** Puts a group where it belongs after a change of its lines. */
  const place = (group: Group<Item>): void => {
    const isReady = group.lines.size() > 0 && !isBlocked(group.target);
    if (isReady && group.at >= 0) ready.moved(group);
    else if (isReady) ready.add(group);
    else if (group.at >= 0) ready.remove(group);
  };

  /** The line whose turn it is. Turns only get later, so that a line with an outdated turn is sorted again here. */
  const frontOf = (group: Group<Item>): Line<Item> | undefined => {
    const line = group.lines.top();
    if (line === undefined || line.known === line.turn.number) return line;
    line.known = line.turn.number;
    group.lines.moved(line);
    ready.moved(group);
    return undefined;
  };

  /** The next waiter of a line. Its task moves behind the other tasks of the requester. */
  const takeFrom = (line: Line<Item>): Item => {
    const [next] = line.tasks;
    const waiter = next?.[1].shift();
    if (next === undefined || waiter === undefined) throw new Error('a line without a waiter was served');
    const [task, waiters] = next;
    line.tasks.delete(task);
    if (waiters.length > 0) line.tasks.set(task, waiters);
    return waiter.item;
  };

  const serve = (group: Group<Item>, line: Line<Item>): Item => {
    const { turn } = line;
    const item = takeFrom(line);
    size -= 1;
    turn.waiting -= 1;
    turn.number = line.known = nextTurn();
    if (turn.waiting === 0) turns.delete(line.requester);
    if (line.tasks.size > 0) group.lines.moved(line);
    else {
      group.lines.remove(line);
      group.ofRequester.delete(line.requester);
      turn.lines.delete(line);
    }
    place(group);
    if (group.ofRequester.size === 0) groups.delete(group.target);
    return item;
  };

  const lineOf = (
    requester: string,
    target: string | undefined,
    waiter: Waiter<Item>,
    task: string,
  ): void => {
    const turn = turns.get(requester) ?? { number: nextTurn(), waiting: 0, lines: new Set<Line<Item>>() };
    turns.set(requester, turn);
    turn.waiting += 1;
    const group = groupOf(target);
    const known = group.ofRequester.get(requester);
    if (known !== undefined) {
      const waiters = known.tasks.get(task);
      if (waiters === undefined) known.tasks.set(task, [waiter]);
      else waiters.push(waiter);
      return;
    }
    const tasks = new Map([[task, [waiter]]]);
    const line: Line<Item> = { at: -1, requester, group, turn, known: turn.number, tasks };
    group.ofRequester.set(requester, line);
    turn.lines.add(line);
    if (!blockedRequesters.has(requester)) group.lines.add(line);
    place(group);
  };

  return {
    join: ({ requester, task }: Who, target: string | undefined, item: Item): void => {
      joined += 1;
      size += 1;
      lineOf(requester, target, { item, number: joined }, task);
    },
    /** Removes the next waiter; undefined when all waiters are blocked, or there are none. */
    next: (): Item | undefined => {
      for (;;) {
        const group = ready.top();
        if (group === undefined) return undefined;
        const line = frontOf(group);
        if (line !== undefined) return serve(group, line);
      }
    },
    block: (target: string): void => {
      blocked.add(target);
      const group = groups.get(target);
      if (group !== undefined) place(group);
    },
    unblock: (target: string): void => {
      if (!blocked.delete(target)) return;
      const group = groups.get(target);
      if (group !== undefined) place(group);
    },
    blockRequester: (requester: string): void => {
      if (blockedRequesters.has(requester)) return;
      blockedRequesters.add(requester);
      for (const line of turns.get(requester)?.lines ?? []) {
        line.group.lines.remove(line);
        place(line.group);
      }
    },
    unblockRequester: (requester: string): void => {
      if (!blockedRequesters.delete(requester)) return;
      for (const line of turns.get(requester)?.lines ?? []) {
        line.group.lines.add(line);
        place(line.group);
      }
    },
    size: (): number => size,
    isWaitedFor: (target: string): boolean => groups.has(target),
  };
};
