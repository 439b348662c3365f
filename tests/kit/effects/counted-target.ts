import { join } from 'node:path';
import { applicationsByKey, fetchLedger, requestsByKey } from '../../counter/ledger.ts';
import { DEFAULT_MIX, type Mode } from '../../counter/modes.ts';
import { startCounter } from '../../counter/server.ts';
import { currentRun } from '../stack/run.ts';

/** The independent witness: what has really happened is read here, and not in the ledger of the executor. */
export type Witness = {
  readonly origin: string;
  /** How it deals with every request from now on. */
  readonly meet: (mode: Mode) => Promise<void>;
  /** How often it was asked for this, and how often that was applied. */
  readonly requests: (key: string) => Promise<number>;
  readonly applications: (key: string) => Promise<number>;
  readonly stop: () => Promise<void>;
};

/** A target that takes its time takes so long: enough to notice that it has begun, and far less than a lease. */
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

/** What an executor has to be told so that its effects may reach the counter. */
export const targetsOf = ({ origin }: Witness): Readonly<Record<string, string>> => ({
  HOLDPOINT_HTTP_TARGETS: origin,
  HOLDPOINT_HTTP_KEYED_TARGETS: origin,
});
