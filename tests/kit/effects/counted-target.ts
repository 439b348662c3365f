import { join } from 'node:path';
import { applicationsByKey, fetchLedger, requestsByKey } from '../../counter/ledger.ts';
import { DEFAULT_MIX, type Mode } from '../../counter/modes.ts';
import { startCounter } from '../../counter/server.ts';
import { currentRun } from '../stack/run.ts';

/** The independent witness: it counts the actual effects, without the ledger of the executor. */
export type Witness = {
  readonly origin: string;
  /** The handling of all later requests. */
  readonly meet: (mode: Mode) => Promise<void>;
  /** The number of requests for a key, and the number of applications. */
  readonly requests: (key: string) => Promise<number>;
  readonly applications: (key: string) => Promise<number>;
  readonly stop: () => Promise<void>;
};

/** The delay of a slow target: long enough to notice the start, and far shorter than a lease. */
const SLOW_MS = 1_500;

export const startWitness = async (): Promise<Witness> => {
  const { origin, stop } = await startCounter({
    file: join(currentRun().folder, `counter-${crypto.randomUUID()}.ndjson`),
    host: '127.0.0.1',
    port: 0,
    seed: 'kills',
    mode: 'normal',
    mix: DEFAULT_MIX,
    keyWindowMs: Infinity,
    slowMs: [SLOW_MS, SLOW_MS],
    holdMs: [600_000, 600_000],
  });
  return {
    origin,
    meet: async (mode) => {
      const answer = await fetch(`${origin}/control`, { method: 'POST', body: JSON.stringify({ mode }) });
      if (!answer.ok) throw new Error(`the counter answered ${String(answer.status)}`);
    },
    requests: async (key) => requestsByKey(await fetchLedger(origin)).get(key)?.length ?? 0,
    applications: async (key) => applicationsByKey(await fetchLedger(origin)).get(key)?.length ?? 0,
    stop,
  };
};

/** The executor settings that allow its effects to reach the counter. */
export const targetsOf = ({ origin }: Witness): Readonly<Record<string, string>> => ({
  HOLDPOINT_HTTP_TARGETS: origin,
  HOLDPOINT_HTTP_KEYED_TARGETS: origin,
});
