const FIRST_MS = 200;
const LAST_MS = 10_000;

/** The wait after so many failures in a row. */
export const backoffMs = (failures: number): number =>
  Math.min(LAST_MS, FIRST_MS * 2 ** Math.min(failures - 1, 10));

export const pause = (failures: number): Promise<void> =>
  new Promise((resolve) => {
    setTimeout(resolve, backoffMs(failures));
  });
