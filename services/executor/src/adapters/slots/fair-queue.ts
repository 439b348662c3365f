import { createHeap } from './heap.ts';

type Waiter<Item> = { readonly item: Item; readonly number: number; next: Waiter<Item> | undefined };

/** A waiting task. The lowest number is next; a served task moves behind all others. */
type Turn = { number: number; waiting: number };

/** The waiters of one task for one target, in order of arrival. */
type Line<Item> = {
  at: number;
  readonly task: string;
  readonly turn: Turn;
  /** The task's turn when the line was last sorted: never later than the actual turn. */
  known: number;
  head: Waiter<Item>;
  tail: Waiter<Item>;
};

/** All waiters for one target. */
type Group<Item> = {
  at: number;
  readonly target: string | undefined;
  readonly lines: ReturnType<typeof createHeap<Line<Item>>>;
  readonly ofTask: Map<string, Line<Item>>;
};

const comesFirst = <Item>(one: Line<Item>, other: Line<Item>): boolean =>
  one.known === other.known ? one.head.number < other.head.number : one.known < other.known;

/**
 * Waiters for slots of one kind: tasks take turns, and within a task and target the first comes first. Waiters for a blocked
 * target are skipped and delay no others. Every step takes logarithmic time.
 */
export const createFairQueue = <Item>() => {
  const turns = new Map<string, Turn>();
  const groups = new Map<string | undefined, Group<Item>>();
  const blocked = new Set<string>();
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
    const group = { at: -1, target, lines: createHeap<Line<Item>>(comesFirst), ofTask: new Map() };
    groups.set(target, group);
    return group;
  };

  const put = (group: Group<Item>): void => {
    if (group.at >= 0) ready.moved(group);
    else if (!isBlocked(group.target)) ready.add(group);
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

  const serve = (group: Group<Item>, line: Line<Item>): Item => {
    const { item, next } = line.head;
    size -= 1;
    line.turn.waiting -= 1;
    line.turn.number = line.known = nextTurn();
    if (line.turn.waiting === 0) turns.delete(line.task);
    if (next === undefined) {
      group.lines.remove(line);
      group.ofTask.delete(line.task);
    } else {
      line.head = next;
      group.lines.moved(line);
    }
    if (group.lines.size() > 0) ready.moved(group);
    else {
      ready.remove(group);
      groups.delete(group.target);
    }
    return item;
  };

  return {
    join: (task: string, target: string | undefined, item: Item): void => {
      const turn = turns.get(task) ?? { number: nextTurn(), waiting: 0 };
      turns.set(task, turn);
      turn.waiting += 1;
      joined += 1;
      size += 1;
      const waiter: Waiter<Item> = { item, number: joined, next: undefined };
      const group = groupOf(target);
      const line = group.ofTask.get(task);
      if (line === undefined) {
        const added = { at: -1, task, turn, known: turn.number, head: waiter, tail: waiter };
        group.ofTask.set(task, added);
        group.lines.add(added);
      } else {
        line.tail.next = waiter;
        line.tail = waiter;
      }
      put(group);
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
      if (group !== undefined && group.at >= 0) ready.remove(group);
    },
    unblock: (target: string): void => {
      if (!blocked.delete(target)) return;
      const group = groups.get(target);
      if (group !== undefined) ready.add(group);
    },
    size: (): number => size,
    isWaitedFor: (target: string): boolean => groups.has(target),
  };
};
