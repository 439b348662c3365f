import { FailureClass } from '@holdpoint/contracts/workflow/failure-class';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import type { CommittedEvent } from '@holdpoint/runtime/engine/batch';
import type { Meter } from '@holdpoint/runtime/observability/meter';
import type { AddPolledMetrics } from '@holdpoint/runtime/observability/polled-metrics';
import type { Pool } from 'pg';
import { z } from 'zod';
import { CIRCUIT_STATUS, STUCK_STATUS } from './queries/summary.ts';

export const recoveryMetrics = (meter: Meter): ((committed: CommittedEvent<RecoveryEvent>) => void) => {
  const failures = meter.counter(
    'failures_total',
    'Failed attempts by class',
    FailureClass.options.map((each) => ({ class: each })),
  );
  const verdicts = meter.counter('verdicts_total', 'Verdicts on failed attempts by kind');
  return ({ event }) => {
    if (event.type !== 'assessed') return;
    failures(1, { class: event.verdict.class });
    verdicts(1, { verdict: event.verdict.kind });
  };
};

const COUNTS = `
  SELECT (SELECT count(*) FROM (SELECT FROM heads WHERE status = '${STUCK_STATUS}' LIMIT 10001) s)::int AS stuck,
         (SELECT count(*) FROM heads WHERE finished_at IS NULL AND status LIKE '${CIRCUIT_STATUS}%')::int AS circuits`;
const Counts = z.object({ stuck: z.int(), circuits: z.int() });

export const pollRecovery = (pool: Pool, sample: AddPolledMetrics): void =>
  sample(
    {
      tasks_stuck: {
        help: 'Tasks with stuck jobs that wait for a person; counted up to 10,000',
      },
      circuits_not_closed: { help: 'Open and half-open circuits of targets and workflows' },
    },
    async () => {
      const { rows } = await pool.query({ name: 'hp_recovery', text: COUNTS });
      const { stuck, circuits } = Counts.parse(rows[0]);
      return { tasks_stuck: stuck, circuits_not_closed: circuits };
    },
  );
