import type { WorkRequest } from '@holdpoint/contracts/program/work';

/** Where a worker can die: around each word that it says to the orchestrator. */
export type CrashPoint = `${'before' | 'after'}:${WorkRequest['request']['kind']}`;

export type CrashOptions = {
  /** Only in this phase. */
  readonly phase?: string;
  /** The how many-th time, from 1. */
  readonly nth?: number;
};

/** What can get lost, or come twice: an order for a worker, a word of a worker, the answer to it, or news of a task. */
export type TestMessage = 'order' | 'word' | 'answer' | 'news';

type Crash = { readonly point: CrashPoint; readonly phase: string | undefined; left: number };

export type Faults = {
  readonly crashAt: (point: CrashPoint, options?: CrashOptions) => void;
  /** Whether a worker dies here. */
  readonly crashes: (point: CrashPoint, phase: string) => boolean;
  readonly lose: (what: TestMessage, times: number) => void;
  readonly double: (what: 'order' | 'word', times: number) => void;
  readonly isLost: (what: TestMessage) => boolean;
  readonly isDoubled: (what: 'order' | 'word') => boolean;
};

const counter = () => {
  const counts = new Map<string, number>();
  return {
    add: (what: string, times: number): void => void counts.set(what, (counts.get(what) ?? 0) + times),
    use: (what: string): boolean => {
      const left = counts.get(what) ?? 0;
      if (left > 0) counts.set(what, left - 1);
      return left > 0;
    },
  };
};

/** Faults that a test has asked for, each as often as it has. */
export const createFaults = (): Faults => {
  const crashes: Crash[] = [];
  const lost = counter();
  const doubled = counter();
  return {
    crashAt: (point, { phase, nth = 1 } = {}) => void crashes.push({ point, phase, left: nth }),
    crashes: (point, phase) => {
      let dies = false;
      for (const crash of crashes) {
        if (crash.point !== point || (crash.phase !== undefined && crash.phase !== phase)) continue;
        crash.left -= 1;
        if (crash.left === 0) dies = true;
      }
      return dies;
    },
    lose: lost.add,
    double: doubled.add,
    isLost: lost.use,
    isDoubled: doubled.use,
  };
};
