import { describe, expect, test } from 'vitest';
import { runCampaign, seedsFrom } from './campaign.ts';
import { expectNoViolation } from './expect-no-violation.ts';
import { CLAIMANT_FAULTS } from './faults/fault-rates.ts';
import { REGRESSIONS } from './regressions.ts';
import { UPGRADED, WENT_BACK } from './faults/upgrade.ts';
import { simulate, TASKS } from './simulate.ts';

const SETTINGS = { tasks: TASKS, bug: {} };
const SEEDS = 16;

/** Events of claimants and callbacks. */
const OF_CLAIMANTS = [
  'executor claimed',
  'executor in_doubt',
  'executor probed',
  'executor superseded',
  'approvals callback_ordered',
  'approvals callback_delivered',
  'approvals callback_failed',
];

test.each(REGRESSIONS)(
  'every invariant holds in seed $seed, which once showed: $found',
  { timeout: 300_000 },
  async ({ seed, tasks }) => {
    await expectNoViolation(await runCampaign([seed], { ...SETTINGS, tasks }), SETTINGS);
  },
);

test('every invariant holds in the first sixteen seeds', { timeout: 300_000 }, async () => {
  await expectNoViolation(await runCampaign(seedsFrom(1, SEEDS), SETTINGS), SETTINGS);
});

test('every invariant holds in eight seeds whose core is one process', { timeout: 300_000 }, async () => {
  const settings = { ...SETTINGS, form: 'core' } as const;
  await expectNoViolation(await runCampaign(seedsFrom(1, 8), settings), settings);
});

test(
  'every invariant holds while a core and single services run side by side',
  { timeout: 300_000 },
  async () => {
    const settings = { tasks: 20, held: 4, bug: {}, form: 'both' } as const;
    await expectNoViolation(await runCampaign(seedsFrom(1, 8), settings), settings);
  },
);

test(
  'every invariant holds while processes of one release are replaced by those of the following one',
  { timeout: 300_000 },
  async () => {
    const settings = { tasks: 20, held: 8, bug: {}, upgrade: true };
    const campaign = await runCampaign(seedsFrom(1, 12), settings);
    await expectNoViolation(campaign, settings);
    expect(campaign.struck.get(UPGRADED)).toBeGreaterThan(12);
    expect(campaign.struck.get(WENT_BACK)).toBeGreaterThan(0);
    expect(campaign.seen.get('approvals dead letter CONTRACT_UNKNOWN_SUBJECT')).toBeGreaterThan(0);
  },
);

test('every invariant holds in sixteen seeds with effects of claimants', { timeout: 300_000 }, async () => {
  const settings = { tasks: 2, held: 16, bug: {} };
  const campaign = await runCampaign(seedsFrom(1, 16), settings);
  await expectNoViolation(campaign, settings);
  expect(OF_CLAIMANTS.filter((name) => !campaign.seen.has(name))).toEqual([]);
  expect(CLAIMANT_FAULTS.filter((fault) => !campaign.struck.has(fault))).toEqual([]);
});

describe('a run', () => {
  test('a run with the same seed is the same', async () => {
    const [one, other] = [
      await simulate({ seed: 5, traced: true }),
      await simulate({ seed: 5, traced: true }),
    ];
    expect(other.trace).toEqual(one.trace);
    expect(one.trace.length).toBeGreaterThan(100);
  });

  test('a run does not change when an absent fault is left out', async () => {
    const one = await simulate({ seed: 5 });
    const other = await simulate({ seed: 5, without: new Set(['publish is lost @ nowhere']) });
    expect(other.steps).toBe(one.steps);
  });

  test('a run of severity 0 has no faults and no violation', async () => {
    const { faults, violation } = await simulate({ seed: 0 });
    expect({ faults, violation }).toEqual({ faults: [], violation: undefined });
  });

  test('a run stops after the given number of steps', async () => {
    expect((await simulate({ seed: 5, steps: 100 })).steps).toBe(100);
  });
});
