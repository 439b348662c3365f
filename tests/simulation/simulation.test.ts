import { describe, expect, test } from 'vitest';
import { type Campaign, runCampaign, seedsFrom } from './campaign.ts';
import { REGRESSIONS } from './regressions.ts';
import { describeFailure } from './report.ts';
import { simulate, TASKS } from './simulate.ts';
import { FAULTS } from './faults/fault-rates.ts';

const SETTINGS = { tasks: TASKS, bug: {} };
const FIXED = 64;
const FRESH_MS = Number(process.env['HOLDPOINT_SIMULATION_SECONDS'] ?? 60) * 1_000;

const expectHeld = async (campaign: Campaign): Promise<void> => {
  const failure = campaign.failed && (await describeFailure(campaign.failed, SETTINGS));
  expect(failure).toBeUndefined();
};

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

describe('every invariant holds', () => {
  test.each(REGRESSIONS)(
    'in seed $seed, where once: $found',
    { timeout: 60_000 },
    async ({ seed, tasks }) => {
      const campaign = await runCampaign([seed], { ...SETTINGS, tasks });
      await expectHeld(campaign);
    },
  );

  test(
    'in the same seeds each time, in which everything happens that may',
    { timeout: 300_000 },
    async () => {
      const campaign = await runCampaign(seedsFrom(1, FIXED), SETTINGS);
      await expectHeld(campaign);
      expect(SOMETIMES.filter((name) => !campaign.seen.has(name))).toEqual([]);
      expect(FAULTS.filter((fault) => !campaign.struck.has(fault))).toEqual([]);
      expect([...campaign.checked.values()].filter((times) => times === 0)).toEqual([]);
    },
  );

  test('in new seeds', { timeout: FRESH_MS * 3 + 300_000 }, async () => {
    const until = performance.now() + FRESH_MS;
    const campaign = await runCampaign(
      seedsFrom(Date.now() % 1_000_000_000),
      SETTINGS,
      () => performance.now() > until,
    );
    await expectHeld(campaign);
    expect(campaign.runs).toBeGreaterThan(0);
  });
});

describe('a run', () => {
  test('is the same each time', async () => {
    const [one, other] = [
      await simulate({ seed: 5, traced: true }),
      await simulate({ seed: 5, traced: true }),
    ];
    expect(other.trace).toEqual(one.trace);
    expect(one.trace.length).toBeGreaterThan(100);
  });

  test('stays as it was when a fault that is not there is left out', async () => {
    const one = await simulate({ seed: 5 });
    const other = await simulate({ seed: 5, without: new Set(['publish is lost @ nowhere']) });
    expect(other.steps).toBe(one.steps);
  });

  test('without faults has none', async () => {
    const { faults, violation } = await simulate({ seed: 0 });
    expect({ faults, violation }).toEqual({ faults: [], violation: undefined });
  });

  test('is broken off after as many steps as were wanted', async () => {
    expect((await simulate({ seed: 5, steps: 100 })).steps).toBe(100);
  });
});
