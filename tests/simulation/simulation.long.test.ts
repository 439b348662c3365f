import { expect, test } from 'vitest';
import { runCampaign, seedsFrom } from './campaign.ts';
import { expectNoViolation } from './expect-no-violation.ts';
import { CLAIMANT_FAULTS, FAULTS } from './faults/fault-rates.ts';
import { TASKS } from './simulate.ts';

/** Effects of claimants, and both forms side by side. These seeds show every fault of claimants. */
const OTHERS = [
  { from: 1, seeds: 12, tasks: 4, held: 24, form: 'apart' },
  { from: 1, seeds: 12, tasks: 4, held: 24, form: 'core' },
  { from: 21, seeds: 20, tasks: 20, held: 8, form: 'both' },
  { from: 21, seeds: 20, tasks: 20, held: 8, form: 'apart', upgrade: true },
] as const;

const SETTINGS = { tasks: TASKS, bug: {} };
const SEEDS = 48;

/** Events that occur only with a generator that is wild enough. */
const SOMETIMES = [
  'approvals decision_refused',
  'approvals delivered',
  'approvals effect_outcome_recorded',
  'approvals escalated',
  'approvals reminded',
  'approvals resolved',
  'approvals rule_added',
  'approvals rule_revoked',
  'approvals rule_used',
  'approvals voted',
  'executor answered',
  'executor applied',
  'executor cancel_requested',
  'executor cancelled',
  'executor deferred',
  'executor duplicate_prevented',
  'executor failed_clean',
  'executor in_doubt',
  'executor not_applied',
  'executor prepared',
  'executor probed',
  'executor refused',
  'executor superseded',
  'executor undeferred',
  'orchestrator artifact_watch_added',
  'orchestrator artifact_watch_removed',
  'orchestrator artifacts_reported',
  'orchestrator artifacts_updated',
  'orchestrator budget_extended',
  'orchestrator cancelled',
  'orchestrator cancelled_before_submission',
  'orchestrator checkpoint',
  'orchestrator completed',
  'orchestrator deferred',
  'orchestrator failed',
  'orchestrator handoff_ordered',
  'orchestrator in_doubt_answered',
  'orchestrator in_doubt_asked',
  'orchestrator input_received',
  'orchestrator input_requested',
  'orchestrator lock_acquired',
  'orchestrator lock_queued',
  'orchestrator lock_released',
  'orchestrator locks_acquired',
  'orchestrator locks_requested',
  'orchestrator node_deferred',
  'orchestrator node_ended',
  'orchestrator node_escalated',
  'orchestrator node_failed',
  'orchestrator node_inspected',
  'orchestrator node_paused',
  'orchestrator node_previewed',
  'orchestrator node_resumed',
  'orchestrator node_retrying',
  'orchestrator node_skipped',
  'orchestrator node_started',
  'orchestrator node_undeferred',
  'orchestrator node_waiting',
  'orchestrator paused',
  'orchestrator peer_ended',
  'orchestrator phase_completed',
  'orchestrator phase_entry_completed',
  'orchestrator phase_failed',
  'orchestrator phase_ordered',
  'orchestrator phase_recorded',
  'orchestrator phase_retry_prepared',
  'orchestrator phase_retrying',
  'orchestrator phase_returned',
  'orchestrator phase_skipped',
  'orchestrator phase_started',
  'orchestrator phase_suspended',
  'orchestrator phase_waiting',
  'orchestrator program_submitted',
  'orchestrator restarted',
  'orchestrator resumed',
  'orchestrator review_recorded',
  'orchestrator rollback_ended',
  'orchestrator rollback_ordered',
  'orchestrator state_checkpoint',
  'orchestrator step_ended',
  'orchestrator step_ordered',
  'orchestrator stuck_answered',
  'orchestrator stuck_asked',
  'orchestrator undeferred',
  'orchestrator watcher_added',
  'recovery assessed',
  'recovery attempt_recorded',
  'recovery circuit_closed',
  'recovery circuit_failure_recorded',
  'recovery circuit_half_opened',
  'recovery circuit_opened',
  'recovery job_unstuck',
];

test(
  'the fixed seeds hold every invariant and cover every event and every fault',
  { timeout: 1_200_000 },
  async () => {
    const campaign = await runCampaign(seedsFrom(1, SEEDS), SETTINGS);
    await expectNoViolation(campaign, SETTINGS);
    expect(SOMETIMES.filter((name) => !campaign.seen.has(name))).toEqual([]);
    expect(FAULTS.filter((fault) => !campaign.struck.has(fault))).toEqual([]);
    expect([...campaign.checked.values()].filter((times) => times === 0)).toEqual([]);
  },
);

test.each(OTHERS)(
  '$seeds seeds with $held effects of claimants hold every invariant in the form $form',
  { timeout: 1_200_000 },
  async ({ from, seeds, ...wanted }) => {
    const settings = { ...wanted, bug: {} };
    const campaign = await runCampaign(seedsFrom(from, seeds), settings);
    await expectNoViolation(campaign, settings);
    expect(CLAIMANT_FAULTS.filter((fault) => !campaign.struck.has(fault))).toEqual([]);
  },
);
