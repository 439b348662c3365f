import { createHeap } from './heap.ts';

type Waiter<Item> = { readonly item: Item; readonly number: number; next: Waiter<Item> | undefined };

/** A task among those that wait. Whose turn has the lowest number is next; being served puts it behind all others. */
type Turn = { number: number; waiting: number };

/** What one task waits for at one target, in the order in which it came. */
type Line<Item> = {
  at: number;
  readonly task: string;
  readonly turn: Turn;
  /** The task's turn as it was when the line was last put in order: never later than it is. */
  known: number;
  head: Waiter<Item>;
  tail: Waiter<Item>;
};

/** Everybody who waits for one target. */
type Group<Item> = {
  at: number;
  readonly target: string | undefined;
  readonly lines: ReturnType<typeof createHeap<Line<Item>>>;
  readonly ofTask: Map<string, Line<Item>>;
};

const comesFirst = <Item>(one: Line<Item>, other: Line<Item>): boolean =>
  one.known === other.known ? one.head.number < other.head.number : one.known < other.known;

/**
 * Those who wait for places of one kind: one of each task in turn, and in a task and target whoever came first. Whoever waits
 * for a target that is held up is passed over, and keeps nobody else waiting. Every step is logarithmic in those who wait.
 */
export const createFairQueue = <Item>() => {
  const turns = new Map<string, Turn>();
  const groups = new Map<string | undefined, Group<Item>>();
  const heldUp = new Set<string>();
  const ready = createHeap<Group<Item>>((one, other) => {
    const [mine, theirs] = [one.lines.top(), other.lines.top()];
    return mine !== undefined && theirs !== undefined && comesFirst(mine, theirs);
  });
  let turnsGiven = 0;
  let joined = 0;
  let size = 0;

  const nextTurn = (): number => (turnsGiven += 1);

  const isHeldUp = (target: string | undefined): boolean => target !== undefined && heldUp.has(target);

  const groupOf = (target: string | undefined): Group<Item> => {
    const known = groups.get(target);
    if (known !== undefined) return known;
    const group = { at: -1, target, lines: createHeap<Line<Item>>(comesFirst), ofTask: new Map() };
    groups.set(target, group);
    return group;
  };

  const put = (group: Group<Item>): void => {
    if (group.at >= 0) ready.moved(group);
    else if (!isHeldUp(group.target)) ready.add(group);
  };

  /** The line whose turn it is. Turns only become later, so one that was put in order too early is put in order again. */
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
    /** Takes out whoever is next; undefined when nobody waits for what is not held up. */
    next: (): Item | undefined => {
      for (;;) {
        const group = ready.top();
        if (group === undefined) return undefined;
        const line = frontOf(group);
        if (line !== undefined) return serve(group, line);
      }
    },
    holdUp: (target: string): void => {
      heldUp.add(target);
      const group = groups.get(target);
      if (group !== undefined && group.at >= 0) ready.remove(group);
    },
    letGo: (target: string): void => {
      if (!heldUp.delete(target)) return;
      const group = groups.get(target);
      if (group !== undefined) ready.add(group);
    },
    size: (): number => size,
    isWaitedFor: (target: string): boolean => groups.has(target),
  };
};
