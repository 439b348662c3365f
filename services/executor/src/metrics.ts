import { statfs } from 'node:fs/promises';
import { CircuitState } from '@holdpoint/contracts/recovery/circuit';
import type { AddGauge } from '@holdpoint/runtime/observability/metrics';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { CommittedEvent } from '@holdpoint/runtime/engine/batch';
import type { Meter } from '@holdpoint/runtime/observability/meter';
import type { AddPolledMetrics } from '@holdpoint/runtime/observability/polled-metrics';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { Circuits } from './adapters/circuits/circuits.ts';
import type { Slots } from './adapters/slots/slots.ts';

const OUTCOMES = ['applied', 'failed_clean', 'not_applied', 'in_doubt', 'refused', 'cancelled'] as const;
type Outcome = (typeof OUTCOMES)[number];
const isOutcome = (type: EffectEvent['type']): type is Outcome =>
  (OUTCOMES as readonly string[]).includes(type);

/** What a refused order may be refused for and nobody wants to see: what it shows is not what was signed. */
const FORGED = ['EXECUTOR_GRANT_INVALID', 'EXECUTOR_GRANT_MISMATCH', 'EXECUTOR_DIGEST_MISMATCH'];
/** Seconds: an effect takes from a moment to a day. */
const TAKES = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];

/** What became of effects, and of the other work of workflows. */
export const effectMetrics = (meter: Meter): ((told: CommittedEvent<EffectEvent>) => void) => {
  const outcomes = meter.counter(
    'effects_total',
    'Outcomes of effects and of other work. One that was in doubt may be applied later, and then counts as both',
    OUTCOMES.map((outcome) => ({ outcome })),
  );
  const refusals = meter.counter(
    'effects_refused_total',
    'Orders that were not acceptable, by the code of the error',
    FORGED.map((code) => ({ code })),
  );
  const prevented = meter.counter(
    'duplicate_effects_prevented_total',
    'Orders of what had been carried out already, answered with what came of it',
  );
  const seconds = meter.histogram(
    'effect_seconds',
    'From the first order of an effect, or of other work, to an outcome',
    TAKES,
  );
  return ({ event, ageMs }) => {
    if (event.type === 'duplicate_prevented') prevented(1);
    if (event.type === 'refused') refusals(1, { code: event.error.code });
    if (!isOutcome(event.type)) return;
    outcomes(1, { outcome: event.type });
    seconds(ageMs / 1_000, { outcome: event.type });
  };
};

const STANDING = `
  SELECT (SELECT count(*) FROM (SELECT FROM doubts LIMIT 10001) d)::int AS doubts,
         coalesce((SELECT extract(epoch FROM clock_timestamp() - min(since)) FROM doubts), 0)::float8 AS oldest,
         coalesce((SELECT greatest(0, extract(epoch FROM clock_timestamp() - due_at)) FROM timers
                    WHERE due_at < now() AND name = 'lease' ORDER BY due_at LIMIT 1), 0)::float8 AS lease`;
const Standing = z.object({ doubts: z.int(), oldest: z.number(), lease: z.number() });

/** What of the ledger somebody may have to look at. */
export const pollLedger = (pool: Pool, sample: AddPolledMetrics): void =>
  sample(
    {
      effects_in_doubt: { help: 'Effects of which nobody knows whether they happened; counted up to 10,000' },
      effects_in_doubt_oldest_seconds: { help: 'Since when the oldest of them is' },
      lease_overdue_seconds: {
        help: 'For how long the lease of a start is over that nobody has looked into',
      },
    },
    async () => {
      const { rows } = await pool.query({ name: 'hp_standing', text: STANDING });
      const { doubts, oldest, lease } = Standing.parse(rows[0]);
      return {
        effects_in_doubt: doubts,
        effects_in_doubt_oldest_seconds: oldest,
        lease_overdue_seconds: lease,
      };
    },
  );

/** How full the disks are that the executor writes to, by what it calls the folder. */
export const pollVolumes = (folders: Readonly<Record<string, string>>, sample: AddPolledMetrics): void =>
  sample(
    { disk_used_ratio: { help: 'Share of a volume that is used: 0 to 1', labels: ['volume'] } },
    async () => ({
      disk_used_ratio: await Promise.all(
        Object.entries(folders).map(async ([volume, folder]) => {
          const { blocks, bavail } = await statfs(folder);
          return { labels: { volume }, value: blocks === 0 ? 0 : 1 - bavail / blocks };
        }),
      ),
    }),
  );

/** For whoever watches: how much runs, how much waits, and how the circuits stand that are known here. */
export const showGauges = (
  gauge: AddGauge,
  places: Pick<Slots, 'inUse' | 'waiting'>,
  circuits: Pick<Circuits, 'states'>,
): void => {
  gauge('places_in_use', 'Orders that are being carried out', [], () => [
    { labels: {}, value: places.inUse() },
  ]);
  gauge('places_waited_for', 'Orders that wait for a place here', [], () => [
    { labels: {}, value: places.waiting() },
  ]);
  gauge('circuit_state', '1 for the state of the circuit of a target', ['target', 'state'], () =>
    circuits.states().flatMap(({ target, state }) =>
      CircuitState.options.map((each) => ({
        labels: { target, state: each },
        value: each === state ? 1 : 0,
      })),
    ),
  );
};
