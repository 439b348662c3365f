import { CLOCK_LAG_MAX_MS } from '../../engine/ports.ts';

/** The local clock drifts from that of the server, which may also be set. */
const READING_AGE_MAX_MS = 10_000;

/**
 * The clock of the server between two readings: the latest one and the local time since then. The server took the reading at some
 * time between question and answer, so a slow answer is no reading.
 */
export const createServerClock = (local: () => number = () => performance.now()) => {
  let latest: { readonly server: number; readonly local: number } | undefined;

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
        latest = { server, local: answered };
      return answer;
    },
    /** Epoch milliseconds of the server. Undefined without a recent reading. */
    now: (): number | undefined => {
      if (latest === undefined) return undefined;
      const since = local() - latest.local;
      return since > READING_AGE_MAX_MS ? undefined : latest.server + Math.floor(since);
    },
  };
};

export type ServerClock = ReturnType<typeof createServerClock>;
