import { fail } from './expression-error.ts';

/** Characters of a text, or members of a list: no result, on the way or at the end, is larger. */
export const RESULT_MAX = 65_536;

/** Steps of one evaluation: what the largest sensible expression takes many times over, and a machine in milliseconds. */
const WORK_MAX = 2_000_000;

/** What an evaluation may still do. It is charged before the work is done. */
export type Meter = {
  work(steps: number): void;
  /** For what is made anew: it has to be worked for, and to be small enough. */
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
