import type { Clock } from '@holdpoint/runtime/engine/clock';

/** A part of a phase that goes on by itself: the phase as a whole, or one of its items. */
export type Branch = { busy: number; waiting: number };

/**
 * Knows what a phase is doing as far as its context is asked: what it waits for, and whether that is all that it does.
 */
export type Activity = {
  /** A new one, or one that was closed. */
  readonly open: (branch?: Branch) => Branch;
  readonly close: (branch: Branch) => void;
  /** While this goes on, the branch has something else to do than wait. */
  readonly working: <Value>(branch: Branch, work: () => Promise<Value>) => Promise<Value>;
  /** Waits for something that has a key; resolves to what `until` does. */
  readonly waiting: <Value>(branch: Branch, key: string, until: () => Promise<Value>) => Promise<Value>;
  /** Resolves to what it waits for, once it has done nothing else for that long. */
  readonly parked: Promise<readonly string[]>;
  /** Resolves when every branch that is open waits. */
  readonly whenWaiting: () => Promise<void>;
  readonly stop: () => void;
};

export type ActivityParts = {
  readonly clock: Clock;
  readonly parkMs: number;
  /** Said whenever it begins to do nothing but wait, and when it goes on. */
  readonly onWaiting: (isWaiting: boolean) => void;
};

export const createActivity = ({ clock, parkMs, onWaiting }: ActivityParts): Activity => {
  const branches = new Set<Branch>();
  const keys = new Map<string, number>();
  const told: (() => void)[] = [];
  let isWaiting = false;
  let stopped = false;
  let callOff = (): void => undefined;
  let park: (on: readonly string[]) => void = () => undefined;
  const parked = new Promise<readonly string[]>((resolve) => (park = resolve));

  const onlyWaits = (): boolean =>
    keys.size > 0 && [...branches].every(({ busy, waiting }) => busy === 0 && waiting > 0);

  /** Whatever has changed, it counts from now how long nothing changes. */
  const changed = (): void => {
    if (stopped) return;
    callOff();
    const now = onlyWaits();
    if (now !== isWaiting) {
      isWaiting = now;
      onWaiting(now);
    }
    if (!now) return;
    for (const tell of told.splice(0)) tell();
    callOff = clock.after(parkMs, () => park([...keys.keys()]));
  };

  const count = (key: string, by: number): void => {
    const left = (keys.get(key) ?? 0) + by;
    if (left === 0) keys.delete(key);
    else keys.set(key, left);
  };

  const within = async <Value>(
    branch: Branch,
    of: keyof Branch,
    key: string | undefined,
    body: () => Promise<Value>,
  ): Promise<Value> => {
    const by = (change: number): void => {
      branch[of] += change;
      if (key !== undefined) count(key, change);
      changed();
    };
    by(1);
    try {
      return await body();
    } finally {
      by(-1);
    }
  };

  return {
    open: (branch = { busy: 0, waiting: 0 }) => {
      branches.add(branch);
      changed();
      return branch;
    },
    close: (branch) => {
      branches.delete(branch);
      changed();
    },
    working: (branch, work) => within(branch, 'busy', undefined, work),
    waiting: (branch, key, until) => within(branch, 'waiting', key, until),
    parked,
    whenWaiting: () => (onlyWaits() ? Promise.resolve() : new Promise((resolve) => void told.push(resolve))),
    stop: () => {
      stopped = true;
      callOff();
    },
  };
};
