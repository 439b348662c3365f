import { fail } from './expression-error.ts';

/** Maximum characters of a text or members of a list, also for intermediate results. */
export const RESULT_MAX = 65_536;

/** Maximum steps of one evaluation: far more than a sensible expression takes, and only milliseconds. */
const WORK_MAX = 2_000_000;

/** Limits an evaluation. Work is charged before it is done. */
export type Meter = {
  work(steps: number): void;
  /** Charges a new value and limits its size. */
  size(units: number): void;
};

export const createMeter = (): Meter => {
  let left = WORK_MAX;
  const work = (steps: number): void => {
    left -= steps + 1;
    if (left < 0) fail('takes too many steps: the values that it works on are too large');
  };
  const size = (units: number): void => {
    work(units);
    if (units > RESULT_MAX) fail(`gives more than ${String(RESULT_MAX)} characters or members`);
  };
  return { work, size };
};
