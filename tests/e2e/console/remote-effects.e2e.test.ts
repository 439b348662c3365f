import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type ConsoleAlone, PHONE, startConsoleAlone } from '../../kit/console/console-alone.ts';
import { chromium } from '../../kit/console/console.ts';

// The page alone, with a stand-in for the service.

let alone: ConsoleAlone;

describe.skipIf(chromium === undefined)('effects of programs in the console', () => {
  beforeAll(async () => {
    alone = await startConsoleAlone(chromium ?? '');
  });
  afterAll(() => alone.stop());
  afterEach(() => alone.leave());

  test('the health page shows capabilities, and the program that holds an order of one', async () => {
    const { page } = await alone.open('#/health');
    const refund = page.locator('[data-capability=refund]');
    await refund.getByText('Refund ${cents} cents of charge ${charge}').waitFor();
    expect(await refund.textContent()).toMatch(
      /1 program.*cap\.remote\.refund.*keyed.*at least high.*timeout 1 min 30 s.*receipt.*ada/s,
    );
    expect(await page.locator('[data-capability=mail]').textContent()).toContain('No program');
    expect(await page.locator('[data-claimant="mails on host-2"]').textContent()).toContain('Away');
    expect(await page.locator('[data-capability=old_refund]').textContent()).toMatch(/Withdrawn.*grace/s);
    const program = page.locator('[data-claimant="refunds on host-1"]');
    expect(await program.textContent()).toMatch(
      /1 order.*Token of ada \(k-7h2k9m1x4c\).*from 192\.0\.2\.7 over HTTP.*Holds e-7h2k9m1x4c0a5b3d/,
    );
  });

  test('the health page says how to register the first capability', async () => {
    Object.assign(alone.standIn.state, { capabilities: [], claimants: [] });
    const { page } = await alone.open('#/health');
    await page.getByText('holdpoint capability register').waitFor();
    await page.getByText('No program claims effects.').waitFor();
    expect(await page.locator('[data-capability]').count()).toBe(0);
  });

  test('a user without the right to see tasks sees the capabilities alone', async () => {
    alone.standIn.state.scopes = ['approvals:read'];
    const { page } = await alone.open('#/health');
    await page.locator('[data-capability=refund]').waitFor();
    expect(await page.locator('[data-claimant]').count()).toBe(0);
  });

  test('a task shows the program that went silent, and the next step', async () => {
    const [task] = alone.standIn.state.tasks;
    if (task === undefined) throw new Error('the sample has no task');
    alone.standIn.state.tasks = [
      { ...task, nodes: task.nodes.map((node) => ({ ...node, uses: 'cap.remote.refund' })) },
    ];
    const { page } = await alone.open(`#/tasks/${task.id}`);
    const effect = page.locator('[data-effect=e-7h2k9m1x4c0a5b3d]');
    await effect.getByText('Unknown outcome').waitFor();
    expect(await effect.textContent()).toMatch(
      /Last held by.*refunds on host-1, with a token of ada, from 192\.0\.2\.7 over HTTP, since.*sent no beat for 30 s.*A person says whether it happened/,
    );
  });

  test('a task without effects of programs does not ask for them', async () => {
    const [task] = alone.standIn.state.tasks;
    const { page } = await alone.open(`#/tasks/${task?.id ?? ''}`);
    await page.getByRole('heading', { name: 'Attempts' }).waitFor();
    expect(await page.getByRole('heading', { name: 'Effects of programs' }).count()).toBe(0);
  });

  test('the lists fit on a phone', async () => {
    const { page } = await alone.open('#/health', PHONE);
    await page.locator('[data-claimant]').first().waitFor();
    const widths = await page.evaluate('[document.documentElement.scrollWidth, innerWidth]');
    const [content = 1, window = 0] = widths as number[];
    expect(content).toBeLessThanOrEqual(window);
  });
});
