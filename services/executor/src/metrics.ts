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

/** Codes of forged orders. Their counters start at 0, so that alarms see the first. */
const FORGED = ['EXECUTOR_GRANT_INVALID', 'EXECUTOR_GRANT_MISMATCH', 'EXECUTOR_DIGEST_MISMATCH'];
/** Buckets in seconds: from a moment to a day. */
const TAKES = [0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400];

/** Metrics of effects and work. */
export const effectMetrics = (meter: Meter): ((told: CommittedEvent<EffectEvent>) => void) => {
  const outcomes = meter.counter(
    'effects_total',
    'Outcomes of effects and work; an effect in doubt that is applied later counts as both',
    OUTCOMES.map((outcome) => ({ outcome })),
  );
  const refusals = meter.counter(
    'effects_refused_total',
    'Refused orders, by error code',
    FORGED.map((code) => ({ code })),
  );
  const prevented = meter.counter(
    'duplicate_effects_prevented_total',
    'Duplicate orders of executed effects, answered with the recorded outcome',
  );
  const seconds = meter.histogram(
    'effect_seconds',
    'Seconds from the first order of an effect or work to an outcome',
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
                    WHERE due_at < now() AND name = 'lease' ORDER BY due_at LIMIT 1), 0)::float8 AS lease,
         (SELECT count(*) FROM instances WHERE forgotten_at IS NULL AND seen_at < now() - interval '10 minutes')::int AS missing`;
const Standing = z.object({ doubts: z.int(), oldest: z.number(), lease: z.number(), missing: z.int() });

/** Polled metrics of the ledger. */
export const pollLedger = (pool: Pool, sample: AddPolledMetrics): void =>
  sample(
    {
      effects_in_doubt: { help: 'Effects in doubt; counted up to 10,000' },
      effects_in_doubt_oldest_seconds: { help: 'Age of the oldest effect in doubt, in seconds' },
      executor_missing: { help: 'Executors that were not seen for ten minutes and are not forgotten' },
      lease_overdue_seconds: {
        help: 'Seconds since the oldest expired lease that is not handled yet',
      },
    },
    async () => {
      const { rows } = await pool.query({ name: 'hp_standing', text: STANDING });
      const { doubts, oldest, lease, missing } = Standing.parse(rows[0]);
      return {
        effects_in_doubt: doubts,
        effects_in_doubt_oldest_seconds: oldest,
        executor_missing: missing,
        lease_overdue_seconds: lease,
      };
    },
  );

/** The used share of each disk that the executor writes to, by the name of the folder. */
export const pollVolumes = (folders: Readonly<Record<string, string>>, sample: AddPolledMetrics): void =>
  sample({ disk_used_ratio: { help: 'Used share of a volume, 0 to 1', labels: ['volume'] } }, async () => ({
    disk_used_ratio: await Promise.all(
      Object.entries(folders).map(async ([volume, folder]) => {
        const { blocks, bavail } = await statfs(folder);
        return { labels: { volume }, value: blocks === 0 ? 0 : 1 - bavail / blocks };
      }),
    ),
  }));

/** Slots in use, waiting orders, and states of circuits. */
export const showGauges = (
  gauge: AddGauge,
  slots: Pick<Slots, 'inUse' | 'waiting'>,
  circuits: Pick<Circuits, 'states'>,
): void => {
  gauge('slots_in_use', 'Slots in use', [], () => [{ labels: {}, value: slots.inUse() }]);
  gauge('slots_waiting', 'Orders that wait for a slot in this executor', [], () => [
    { labels: {}, value: slots.waiting() },
  ]);
  gauge('circuit_state', '1 for the current state of the circuit of a target', ['target', 'state'], () =>
    circuits.states().flatMap(({ target, state }) =>
      CircuitState.options.map((each) => ({
        labels: { target, state: each },
        value: each === state ? 1 : 0,
      })),
    ),
  );
};
