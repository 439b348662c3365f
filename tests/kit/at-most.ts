/** Limits the number of concurrent jobs, first come first served: each job starts a system of its own. */
export const atMost = (count: number) => {
  let free = count;
  const waiting: (() => void)[] = [];
  return async <Made>(work: () => Promise<Made>): Promise<Made> => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free -= 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
};
