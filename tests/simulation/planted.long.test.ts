import { describe, expect, test } from 'vitest';
import { runCampaign, seedsFrom } from './campaign.ts';
import { PLANTED } from './planted.ts';
import { PLANTED_REMOTE } from './planted-remote.ts';
import { describeFailure } from './report.ts';
import { shrink } from './shrink.ts';

const SEEDS_MAX = 150;
const TASKS = 20;

describe('planted bugs', () => {
  test.each([...PLANTED, ...PLANTED_REMOTE])(
    'the simulator finds the bug: $name',
    { timeout: 1_200_000 },
    async ({ bug, finds, held = 0, upgrade = false }) => {
      const { failed } = await runCampaign(seedsFrom(1, SEEDS_MAX), {
        tasks: held > 0 ? 2 : TASKS,
        held,
        upgrade,
        bug,
      });
      expect(finds).toContain(failed?.violation?.invariant);
    },
  );

  test('the simulator shrinks a violation and reports its trace', { timeout: 1_200_000 }, async () => {
    const planted = PLANTED.find(({ name }) => name.includes('never resends'));
    const bug = planted?.bug ?? {};
    const { failed } = await runCampaign(seedsFrom(1, SEEDS_MAX), { tasks: TASKS, bug });
    if (failed === undefined) throw new Error('the bug was not found');
    const { outcome } = await shrink(failed, { tasks: TASKS, bug });
    expect(outcome.violation?.invariant).toBe(failed.violation?.invariant);
    expect(outcome.tasks.length).toBeLessThan(failed.tasks.length);
    expect(outcome.faults.length).toBeLessThan(failed.faults.length);
    const description = await describeFailure(failed, { tasks: TASKS, bug });
    expect(description).toContain(`npm run simulate -- --seed ${String(failed.seed)}`);
    expect(description).toMatch(/ms {2}FAULT/);
  });
});
