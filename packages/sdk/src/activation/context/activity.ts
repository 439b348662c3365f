import type { Clock } from '@holdpoint/runtime/engine/clock';

/** A concurrent part of a phase: the phase itself, or one of its items. */
export type Branch = { busy: number; waiting: number };

/** Tracks what a phase waits for, and whether it does anything else. */
export type Activity = {
  /** Opens a new branch, or reopens a closed one. */
  readonly open: (branch?: Branch) => Branch;
  readonly close: (branch: Branch) => void;
  /** Marks the branch as busy during `work`. */
  readonly working: <Value>(branch: Branch, work: () => Promise<Value>) => Promise<Value>;
  /** Waits for something with a key; resolves with the result of `until`. */
  readonly waiting: <Value>(branch: Branch, key: string, until: () => Promise<Value>) => Promise<Value>;
  /** Resolves with the awaited keys once the phase has only waited for `parkMs`. */
  readonly parked: Promise<readonly string[]>;
  /** Resolves when every open branch waits. */
  readonly whenWaiting: () => Promise<void>;
  readonly stop: () => void;
};

export type ActivityParts = {
  readonly clock: Clock;
  readonly parkMs: number;
  /** Called when the phase starts and stops to only wait. */
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

  /** Every change restarts the timer for parking. */
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
