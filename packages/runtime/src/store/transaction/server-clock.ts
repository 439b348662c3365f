import { CLOCK_LAG_MAX_MS } from '../../engine/ports.ts';

/** The local clock drifts from that of the server, which may also be set. */
const READING_AGE_MAX_MS = 10_000;

/** The clock of the server, in epoch milliseconds, when its answer arrived at a local time. */
type Reading = { readonly server: number; readonly local: number };

const at = ({ server, local }: Reading, time: number): number => server + time - local;
const isOld = (reading: Reading | undefined, time: number): boolean =>
  reading === undefined || time - reading.local > READING_AGE_MAX_MS;

/**
 * The clock of the server between two readings: the best of the recent ones and the local time since then. The server took a
 * reading at some time between question and answer, so a slow answer is no reading.
 */
export const createServerClock = (local: () => number = () => performance.now()) => {
  let best: Reading | undefined;

  /** Of several readings the highest clock lags least, unless the server cannot have it: then its clock was set. */
  const take = (reading: Reading & { readonly asked: number }): void => {
    const known = best && at(best, reading.local);
    const isPossible = known !== undefined && known <= reading.server + reading.local - reading.asked + 1;
    if (!isPossible || known <= reading.server || isOld(best, reading.local)) best = reading;
  };

  return {
    /** Asks, and takes `now` in the first row as a reading: epoch milliseconds as text. */
    timed: async <Row extends object>(
      ask: () => Promise<{ readonly rows: readonly Row[] }>,
    ): Promise<{ readonly rows: readonly Row[] }> => {
      const asked = local();
      const answer = await ask();
      const answered = local();
      const [row] = answer.rows;
      const server = row !== undefined && 'now' in row ? Number(row.now) : NaN;
      if (Number.isFinite(server) && answered - asked <= CLOCK_LAG_MAX_MS)
        take({ server, local: answered, asked });
      return answer;
    },
    /** Epoch milliseconds of the server. Undefined without a recent reading. */
    now: (): number | undefined => {
      const time = local();
      return best === undefined || isOld(best, time) ? undefined : Math.floor(at(best, time));
    },
  };
};

export type ServerClock = ReturnType<typeof createServerClock>;
