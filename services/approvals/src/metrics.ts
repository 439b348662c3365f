import { ApprovalOutcome } from '@holdpoint/contracts/approval/status';
import type { CommittedEvent } from '@holdpoint/runtime/engine/batch';
import type { Meter } from '@holdpoint/runtime/observability/meter';
import type { AddPolledMetrics } from '@holdpoint/runtime/observability/polled-metrics';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { ServiceEvent } from './aggregates.ts';
import { readAuditHead } from './queries/audit.ts';

/** Seconds: a rule decides at once, a person may take a week. */
const WAITS = [0.1, 1, 5, 15, 60, 300, 900, 3_600, 14_400, 86_400, 604_800];

export const approvalMetrics = (meter: Meter): ((committed: CommittedEvent<ServiceEvent>) => void) => {
  const requested = meter.counter('approvals_requested_total', 'Approval requests');
  const resolved = meter.counter(
    'approvals_total',
    'Resolved approval requests by outcome',
    ApprovalOutcome.options.map((outcome) => ({ outcome })),
  );
  const waited = meter.histogram(
    'approval_decision_seconds',
    'Time from request to resolution by outcome and by decider: person or rule',
    WAITS,
  );
  const refused = meter.counter(
    'decisions_refused_total',
    'Decisions refused because the person may not decide on the request',
  );
  return ({ event, ageMs }) => {
    if (event.type === 'requested') requested(1);
    if (event.type === 'decision_refused') refused(1);
    if (event.type !== 'resolved') return;
    resolved(1, { outcome: event.outcome });
    waited(ageMs / 1_000, { outcome: event.outcome, by: event.rule === undefined ? 'person' : 'rule' });
  };
};

/** Counting a million rows would slow down decisions. */
const COUNTED_MAX = 100_000;
const PENDING = `
  SELECT (SELECT count(*) FROM (SELECT FROM inbox WHERE member = '' LIMIT ${String(COUNTED_MAX)}) i)::int AS pending,
         coalesce((SELECT extract(epoch FROM clock_timestamp()) - requested_at / 1000.0 FROM inbox
                    WHERE member = '' ORDER BY requested_at, id LIMIT 1), 0)::float8 AS oldest`;
const Pending = z.object({ pending: z.int(), oldest: z.number() });

export const pollApprovals = (pool: Pool, sample: AddPolledMetrics): void => {
  sample(
    {
      approvals_pending: { help: 'Pending approval requests; counted up to 100,000' },
      approvals_pending_oldest_seconds: { help: 'Age of the oldest pending request' },
    },
    async () => {
      const { rows } = await pool.query({ name: 'hp_pending', text: PENDING });
      const { pending, oldest } = Pending.parse(rows[0]);
      return { approvals_pending: pending, approvals_pending_oldest_seconds: Math.max(0, oldest) };
    },
  );
  sample(
    {
      audit_lines: { help: 'Lines of the audit log' },
      audit_unanchored_seconds: {
        help: 'Upper bound of the age of the oldest unsigned line; 0: none',
      },
    },
    async () => {
      const { seq, now, anchor } = await readAuditHead(pool);
      const covered = anchor?.line ?? 0;
      return {
        audit_lines: seq,
        // Before the first signature there is no reference time. The service signs as soon as it starts.
        audit_unanchored_seconds: seq <= covered || anchor === undefined ? 0 : (now - anchor.at) / 1_000,
      };
    },
  );
};
