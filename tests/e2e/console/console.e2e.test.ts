import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { seriousFindings } from '../../kit/console/browser.ts';
import { chromium, type Console, startConsole } from '../../kit/console/console.ts';
import type { System } from '../../kit/stack/system.ts';
import { type SampleTask, submitSample, waitForPhase, waitForRequest } from '../../kit/tasks/tasks.ts';

// The console with a real browser and the real services.

describe.skipIf(chromium === undefined)('the console', () => {
  let tried: Console;
  let system: System;
  beforeAll(async () => {
    tried = await startConsole(chromium ?? '');
    system = tried.system;
  });
  afterAll(() => tried.stop());
  afterEach(() => tried.leave());

  const open: Console['open'] = (...visit) => tried.open(...visit);
  const held = async (): Promise<SampleTask> => {
    const task = await submitSample(system.client);
    await waitForRequest(system.client, task);
    return task;
  };
  const linesAbout = async ({ approval }: SampleTask) =>
    (await system.client.ask('approvals', 'audit', { about: approval, limit: 100 })).items;

  test('a waiting task is shown, decided and shown as done, with its proof in the audit trail', async () => {
    const task = await held();
    const { page } = await open(`#/tasks/${task.id}`);
    await page.getByRole('link', { name: 'Decide' }).click();
    const article = page.getByRole('article');
    await article.getByText(task.line).first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByLabel('Comment (optional)').fill('as agreed');
    await page.getByRole('button', { name: 'Confirm: Approve' }).click();
    await page.getByText('Decision recorded.').waitFor();
    await article.getByText('this page').waitFor();
    expect(await system.client.ask('approvals', 'get', { id: task.approval })).toMatchObject({
      status: 'approved',
      decidedBy: 'operator',
      surface: 'web',
      comment: 'as agreed',
    });
    await page
      .getByRole('link', { name: new RegExp(task.id) })
      .first()
      .click();
    await waitForPhase(system.client, task.id, 'completed');
    await page.locator('.badges').getByText('Done').waitFor();
    await page.getByRole('button', { name: 'Verify the whole log' }).click();
    await page.getByText('The log is intact').waitFor();
    await page.getByText('✓ verified').first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });

  test('new entries of the audit log are verified after the page was opened', async () => {
    const task = await held();
    const { page } = await open(`#/tasks/${task.id}`);
    await page.getByText('not verified yet').first().waitFor();
    await system.client.ask('approvals', 'decide', { id: task.approval, decision: 'reject' });
    await expect
      .poll(async () => (await linesAbout(task)).map(({ type }) => type), { timeout: 10_000 })
      .toContain('resolved');
    await page.getByRole('button', { name: 'Verify the whole log' }).click();
    await page.getByText('The log is intact').waitFor();
    await expect.poll(() => page.getByText('✓ verified').count()).toBe((await linesAbout(task)).length);
    expect(await page.getByText('verification failed').count()).toBe(0);
  });

  test('a decision shows in a second browser, which cannot decide again', async () => {
    const task = await held();
    const [first, second] = [
      await open(`#/inbox/${task.approval}`),
      await open(`#/inbox/${task.approval}`, 'grace'),
    ];
    await second.page.getByRole('button', { name: 'Approve' }).click();
    await first.page.getByRole('button', { name: 'Reject' }).click();
    await first.page.getByRole('button', { name: 'Confirm: Reject' }).click();
    await second.page.getByRole('article').getByText('Rejected').first().waitFor();
    await second.page.getByRole('status').getByText('rejected by operator').waitFor();
    expect(await second.page.getByRole('button', { name: 'Confirm: Approve' }).count()).toBe(0);
    await second.page.locator(`[data-row="${task.approval}"]`).waitFor({ state: 'detached' });
    const view = await system.client.ask('approvals', 'get', { id: task.approval });
    expect(view).toMatchObject({ status: 'rejected', decidedBy: 'operator' });
  });

  test('a new request shows without a reload, and several are decided together', async () => {
    const { page } = await open('#/inbox');
    await page.getByText('Live', { exact: true }).waitFor();
    const tasks = [await held(), await held()];
    for (const { approval } of tasks) await page.getByLabel(`Select ${approval}`).check();
    await page.getByRole('form', { name: 'Bulk decision' }).getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('button', { name: 'Approve 2' }).click();
    await page.getByText('Decided on 2 requests.').waitFor();
    for (const { id } of tasks) await waitForPhase(system.client, id, 'completed');
    await page.getByRole('link', { name: 'Decided' }).click();
    await page.getByText('by operator on this page').first().waitFor();
  });

  test('a task is paused, resumed and cancelled', async () => {
    const task = await held();
    const { page } = await open(`#/tasks/${task.id}`);
    for (const [verb, phase] of [
      ['Pause', 'paused'],
      ['Resume', 'awaiting_approval'],
      ['Cancel', 'cancelled'],
    ] as const) {
      await page.getByRole('button', { name: verb, exact: true }).click();
      await page.getByRole('button', { name: `Confirm: ${verb}` }).click();
      await waitForPhase(system.client, task.id, phase);
    }
    await page.locator('.badges').getByText('Cancelled').waitFor();
  });

  test('a stopped service is shown as such, and all else continues', async () => {
    const { page } = await open('#/health');
    await page.locator('[data-service=recovery]').getByText('Working').waitFor();
    await tried.services.get('recovery')?.stop();
    await page
      .locator('[data-service=recovery]')
      .getByText('No answer', { exact: true })
      .waitFor({ timeout: 60_000 });
    await page.locator('[data-service=orchestrator]').getByText('Working').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
  });
});
