import type { WorkRequest } from '@holdpoint/contracts/program/work';

/** A point where a worker can crash: before or after a request to the orchestrator. */
export type CrashPoint = `${'before' | 'after'}:${WorkRequest['request']['kind']}`;

export type CrashOptions = {
  /** Only in this phase. */
  readonly phase?: string;
  /** At the n-th occurrence, from 1. */
  readonly nth?: number;
};

/**
 * Messages that can be lost or duplicated: an order, a request of a worker, its answer, or news of a
 * task.
 */
export type TestMessage = 'order' | 'request' | 'answer' | 'news';

type Crash = { readonly point: CrashPoint; readonly phase: string | undefined; left: number };

export type Faults = {
  readonly crashAt: (point: CrashPoint, options?: CrashOptions) => void;
  /** Whether the worker crashes here. */
  readonly crashes: (point: CrashPoint, phase: string) => boolean;
  readonly lose: (what: TestMessage, times: number) => void;
  readonly double: (what: 'order' | 'request', times: number) => void;
  readonly isLost: (what: TestMessage) => boolean;
  readonly isDoubled: (what: 'order' | 'request') => boolean;
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

/** The faults of a test, each with its number of repetitions. */
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
