import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { approvalIdOf, NodeId, type TaskId } from '@holdpoint/contracts/values/ids';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { publish } from '../../kit/bus/consumers.ts';
import { seriousFindings } from '../../kit/console/browser.ts';
import { chromium, type Console, startConsole } from '../../kit/console/console.ts';
import { printing, rewritten, stuckOn, submitScripted } from '../../kit/effects/scripted.ts';
import {
  newTaskId,
  type SampleTask,
  submitSample,
  waitForPhase,
  waitForRequest,
} from '../../kit/tasks/tasks.ts';
import { until, untilTrue } from '../../kit/until.ts';

// Steering of stuck and ended tasks in the console: a real browser and the real services, whose state is
// checked.

describe.skipIf(chromium === undefined)('steering in the console', () => {
  let tried: Console;
  beforeAll(async () => {
    tried = await startConsole(chromium ?? '');
  });
  afterAll(() => tried.stop());
  afterEach(() => tried.leave());

  const ask: Console['system']['client']['ask'] = (...asked) => tried.system.client.ask(...asked);
  const open = async (hash: string): Promise<Page> => (await tried.open(hash)).page;
  const held = async (): Promise<SampleTask> => {
    const task = await submitSample(tried.system.client);
    await waitForRequest(tried.system.client, task);
    return task;
  };
  const scripted = (definition: Parameters<typeof submitScripted>[2]): Promise<TaskId> =>
    submitScripted(tried.system.client, tried.repository, definition);
  const phaseOf = async (id: TaskId) => (await ask('orchestrator', 'get', { id })).phase;
  const nodeOf = async (id: TaskId, name: string) =>
    (await ask('orchestrator', 'get', { id })).nodes.find((node) => node.id === name);

  test('a task is forked from a replayed version, and the fork is a separate task', async () => {
    const task = await held();
    await ask('approvals', 'decide', { id: task.approval, decision: 'approve' });
    await waitForPhase(tried.system.client, task.id, 'completed');
    const page = await open(`#/tasks/${task.id}`);
    const slider = page.getByRole('slider', { name: 'Replay' });
    await slider.focus();
    await slider.press('Home');
    await page.getByText(/^version 1 of \d+/).waitFor();
    await page.locator('.badges').getByText('Queued').waitFor();
    await page.getByRole('button', { name: 'Fork' }).click();
    await page.getByText('(version 1)').waitFor();
    await page.getByRole('button', { name: 'Confirm: Fork' }).click();
    await page.waitForURL((url) => /^#\/tasks\/.+/.test(url.hash) && !url.hash.includes(task.id));
    const forked = new URL(page.url()).hash.replace('#/tasks/', '') as TaskId;
    await page.locator('.badges').getByText(forked).waitFor();
    await page.getByRole('link', { name: 'Decide' }).waitFor();
    expect(await waitForPhase(tried.system.client, forked, 'awaiting_approval')).toMatchObject({
      goal: 'append a line',
      requestedBy: 'operator',
    });
    const { events } = await ask('orchestrator', 'history', { id: forked });
    expect(events[0]?.data['forkedFrom']).toMatchObject({ task: task.id, version: 1 });
    expect(await phaseOf(task.id)).toBe('completed');
  });

  test('the slider replays a task and returns to its present state', async () => {
    const task = await held();
    const page = await open(`#/tasks/${task.id}`);
    const badge = page.locator('.badges');
    await badge.getByText('Needs a decision').waitFor();
    const slider = page.getByRole('slider', { name: 'Replay' });
    await slider.focus();
    await slider.press('Home');
    await badge.getByText('Queued').waitFor();
    await page.getByText(/^version 1 of \d+/).waitFor();
    // New events do not move the replayed version.
    await ask('approvals', 'decide', { id: task.approval, decision: 'approve' });
    const { version } = await waitForPhase(tried.system.client, task.id, 'completed');
    await page.getByText(`version 1 of ${String(version)}`).waitFor();
    await badge.getByText('Queued').waitFor();
    await page.getByRole('button', { name: 'Back to now' }).click();
    await badge.getByText('Done').waitFor();
    expect(await slider.getAttribute('aria-valuetext')).toContain(
      `version ${String(version)} of ${String(version)}`,
    );
  });

  describe('a stuck job', () => {
    const stuck = async (mended: string): Promise<TaskId> => {
      const id = await scripted(
        stuckOn(mended, `test -e ${mended} || { echo "there is no ${mended}"; exit 3; }`),
      );
      await untilTrue(`${id} is stuck`, async () => (await nodeOf(id, 'work'))?.job === 'escalated');
      await untilTrue('it is on the list', async () =>
        (await ask('recovery', 'stuck', { limit: 500 })).items.some(({ task }) => task === id),
      );
      return id;
    };
    const isListed = async (id: TaskId): Promise<boolean> =>
      (await ask('recovery', 'stuck', { limit: 500 })).items.some(({ task }) => task === id);

    test.each([
      ['Try again', 'succeeded', 'retry', 2],
      ['Skip', 'skipped', 'skip', 1],
      ['Mark as done', 'succeeded', 'done', 1],
      ['Cancel it', 'cancelled', 'cancel', 1],
    ] as const)(
      'a stuck job is on the list with its report, and is resolved there: %s',
      async (label, job, answer, attempt) => {
        const mended = `mended-${answer}`;
        const id = await stuck(mended);
        const page = await open('#/recovery');
        const row = page
          .getByRole('listitem')
          .filter({ has: page.getByRole('link', { name: `${id} / work` }) });
        await row.getByRole('button').first().click();
        await row.locator('.report').getByText(`there is no ${mended}`).first().waitFor();
        expect(await seriousFindings(page)).toEqual([]);
        if (answer === 'retry') writeFileSync(join(tried.repository, mended), '');
        await row.getByRole('link', { name: 'Decide how it continues' }).click();
        await page.getByRole('article').getByText('How should this job continue?').waitFor();
        await page.getByRole('button', { name: label, exact: true }).click();
        await page.getByLabel('Comment (optional)').fill(`said with ${answer}`);
        await page.getByRole('button', { name: `Confirm: ${label}` }).click();
        await page.getByText('Decision recorded.').waitFor();
        await untilTrue(`the step is ${job}`, async () => (await nodeOf(id, 'work'))?.job === job);
        const { events } = await ask('orchestrator', 'history', { id });
        expect(events.find(({ type }) => type === 'stuck_answered')?.data).toMatchObject({
          answer,
          by: 'operator',
          comment: `said with ${answer}`,
        });
        expect(await nodeOf(id, 'work')).toMatchObject({ attempt });
        await untilTrue('it is off the list', async () => !(await isListed(id)));
        await page.goto(`${tried.url}#/recovery`);
        await page.getByRole('heading', { level: 2, name: 'Recovery' }).waitFor();
        await page.getByText('Loading').first().waitFor({ state: 'hidden' });
        await row.waitFor({ state: 'detached' });
      },
    );

    test.each([
      ['Try again', 'succeeded', 'Done'],
      ['Skip', 'skipped', 'Skipped'],
      ['Mark as done', 'succeeded', 'Done'],
    ] as const)("a stuck job is resolved on its task's page: %s", async (label, job, shown) => {
      const mended = `mended-${label.replaceAll(' ', '-')}`;
      const id = await stuck(mended);
      const page = await open(`#/tasks/${id}`);
      const step = page.getByRole('listitem').filter({ has: page.getByRole('button', { name: /^work/ }) });
      await step.getByText('Stuck: needs a decision').waitFor();
      await step.getByRole('button', { name: /^work/ }).click();
      writeFileSync(join(tried.repository, mended), '');
      const actions = step.getByRole('group', { name: 'Actions on the step' });
      expect(await page.getByRole('button', { name: 'Resume' }).count()).toBe(0);
      await actions.getByRole('button', { name: label }).click();
      await step.getByLabel('Why (optional)').fill('as it was agreed');
      await step.getByRole('button', { name: `Confirm: ${label}` }).click();
      await page.getByText(`${label}: done.`).waitFor();
      await untilTrue(`the step is ${job}`, async () => (await nodeOf(id, 'work'))?.job === job);
      await step.getByText(shown).first().waitFor();
      expect(await nodeOf(id, 'work')).toMatchObject({ attempt: label === 'Try again' ? 2 : 1 });
      await waitForPhase(tried.system.client, id, 'completed');
      await untilTrue('it is off the list', async () => !(await isListed(id)));
    });
  });

  test('an open circuit is closed and opened again', async () => {
    const target = 'https://deploy.example';
    const circuit = async () =>
      (await ask('recovery', 'circuits', { limit: 500 })).items.find((each) => each.target === target);
    await ask('recovery', 'circuit', { target, state: 'open', reason: 'it is being moved' });
    const page = await open('#/recovery');
    const row = page.getByRole('listitem').filter({ hasText: target });
    await row.getByText('it is being moved').waitFor();
    await row.getByRole('button', { name: 'Close circuit' }).click();
    await row.getByRole('button', { name: 'Confirm: use it again' }).click();
    await page.getByText('Circuit closed.').waitFor();
    expect(await circuit()).toMatchObject({ state: 'closed', by: 'operator' });
    await row.getByRole('button', { name: 'Open circuit' }).click();
    await row.getByRole('button', { name: /^Confirm: block it/ }).click();
    await page.getByText('Circuit opened.').waitFor();
    expect(await circuit()).toMatchObject({ state: 'open', by: 'operator' });
    await row.getByRole('button', { name: 'Close circuit' }).waitFor();
  });

  test('a dead letter is repeated once its message can be handled, and another is dropped', async () => {
    const id = newTaskId();
    const { connection } = tried.system.client;
    await publish(connection, 'hp.cmd.task.cancel', JSON.stringify({ id }));
    await publish(connection, 'hp.cmd.task.cancel', `{"id":"broken-${id}`);
    const page = await open('#/health');
    const first = page.getByRole('listitem').filter({ hasText: `{"id":"${id}"}` });
    const second = page.getByRole('listitem').filter({ hasText: `broken-${id}` });
    // The list is loaded again when the page is opened again.
    await until('both are listed', async () => {
      await page.reload();
      await page.getByText('Loading').first().waitFor({ state: 'hidden' });
      return (await first.count()) === 1 && (await second.count()) === 1 ? true : undefined;
    });
    await first.getByRole('button', { name: 'Try again' }).click();
    await first.getByRole('button', { name: 'Confirm: retry it' }).click();
    // The task is still unknown: the dead letter stays, with the reason.
    await page.getByRole('status').getByText(`unknown task: ${id}`).waitFor();
    await first.waitFor();
    const { file, line } = { file: 'sample.txt', line: 'late' };
    await ask('orchestrator', 'submit', {
      id,
      workflow: 'sample',
      goal: 'come late',
      inputs: { file, line },
    });
    await first.getByRole('button', { name: 'Try again' }).click();
    await first.getByRole('button', { name: 'Confirm: retry it' }).click();
    await page.getByText('Retried.').waitFor();
    await waitForPhase(tried.system.client, id, 'cancelled');
    await first.waitFor({ state: 'detached' });
    await second.getByRole('button', { name: 'Drop' }).click();
    await second.getByRole('button', { name: 'Confirm: drop it permanently' }).click();
    await page.getByText('Dropped.').waitFor();
    await second.waitFor({ state: 'detached' });
  });

  test('a request is approved with "remember": the rule appears and decides the next request', async () => {
    const file = `remembered-${newTaskId()}.txt`;
    const task = await submitSample(tried.system.client, file);
    await waitForRequest(tried.system.client, task);
    const page = await open(`#/inbox/${task.approval}`);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByLabel(/^Approve and add a rule/).check();
    await page.getByLabel('Days').fill('2');
    await page.getByRole('button', { name: 'Approve and add rule' }).click();
    await page.getByText('Decision recorded.').waitFor();
    await waitForPhase(tried.system.client, task.id, 'completed');
    const { items } = await ask('approvals', 'rule_list', { status: 'active', limit: 500 });
    const rule = items.find(({ match }) => match.target === `file:${file}`);
    expect(rule).toMatchObject({
      author: 'operator',
      from: task.approval,
      match: { kinds: ['write_external'], capability: 'cap.file.append', workflow: 'sample' },
    });
    await page.getByRole('article').getByText(String(rule?.id)).waitFor();
    const next = await submitSample(tried.system.client, file);
    await waitForPhase(tried.system.client, next.id, 'completed');
    expect(await ask('approvals', 'get', { id: next.approval })).toMatchObject({
      status: 'approved',
      surface: 'rule',
      rule: rule?.id,
    });
    // The rule does not cover another file.
    const other = await held();
    expect((await ask('approvals', 'get', { id: other.approval })).status).toBe('pending');
    await page.goto(`${tried.url}#/inbox/${next.approval}`);
    await page.getByRole('article').getByText('a standing rule').waitFor();
  });

  test('changes are requested with a comment, and the next request shows the difference', async () => {
    const file = `rewritten-${newTaskId()}.txt`;
    const count = `drafts-of-${file}`;
    const id = await scripted(
      rewritten(`echo x >> ${count}; echo "draft $(wc -l < ${count} | tr -d ' ')"`, file),
    );
    const publishes = NodeId.parse('publish');
    const [one, two] = [approvalIdOf(id, publishes, 1), approvalIdOf(id, publishes, 2)];
    await until('it is requested', () => ask('approvals', 'get', { id: one }));
    const page = await open(`#/inbox/${one}`);
    const article = page.getByRole('article');
    await article.getByText('draft 1').first().waitFor();
    await page.getByRole('button', { name: 'Request changes' }).click();
    await page.getByLabel('Comment (the changes you want)').fill('it wants a second look');
    await page.getByRole('button', { name: 'Confirm: Request changes' }).click();
    await page.getByText('Decision recorded.').waitFor();
    await until('it is requested anew', () => ask('approvals', 'get', { id: two }));
    await page.locator(`[data-row="${two}"]`).click();
    await article.getByText('Changes since the last review').waitFor();
    await article.getByText('it wants a second look').waitFor();
    const changes = article
      .getByRole('group')
      .filter({ hasText: 'Changes since the last review' })
      .getByRole('group', { name: 'Changes' });
    await changes.locator('.removed').getByText('draft 1').waitFor();
    await changes.locator('.added').getByText('draft 2').waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('button', { name: 'Confirm: Approve' }).click();
    await page.getByText('Decision recorded.').waitFor();
    await waitForPhase(tried.system.client, id, 'completed');
    // Only the approved effect has run.
    expect(readFileSync(join(tried.system.workspace, file), 'utf8')).toMatch(/^\S+\tdraft 2\n$/);
    expect(await ask('approvals', 'get', { id: one })).toMatchObject({
      status: 'changes_requested',
      decidedBy: 'operator',
      comment: 'it wants a second look',
    });
  });

  test('several requests are rejected together with one comment', async () => {
    const tasks = [await held(), await held(), await held()];
    const [spared, ...rejected] = tasks;
    const page = await open('#/inbox');
    for (const { approval } of rejected) await page.getByLabel(`Select ${approval}`).check();
    const form = page.getByRole('form', { name: 'Bulk decision' });
    await form.getByRole('button', { name: 'Reject' }).click();
    await form.getByLabel('Comment for all').fill('not on a Friday');
    await form.getByRole('button', { name: 'Reject 2' }).click();
    await page.getByText('Decided on 2 requests.').waitFor();
    for (const { id, approval } of rejected) {
      expect(await ask('approvals', 'get', { id: approval })).toMatchObject({
        status: 'rejected',
        decidedBy: 'operator',
        surface: 'web',
        comment: 'not on a Friday',
      });
      await waitForPhase(tried.system.client, id, 'failed');
      await page.locator(`[data-row="${approval}"]`).waitFor({ state: 'detached' });
    }
    if (spared === undefined) throw new TypeError('none was spared');
    await page.locator(`[data-row="${spared.approval}"]`).waitFor();
    expect((await ask('approvals', 'get', { id: spared.approval })).status).toBe('pending');
  });

  describe('the output of a task', () => {
    /** Long lines, because the live log drops some of many short ones. */
    const LINES = 1_200;

    test('output is searched, and saved as stored, to the last byte', async () => {
      const id = await scripted(
        printing(
          `seq -f 'line %.0f of many ${'and long '.repeat(60)}' 1 ${String(LINES)}; echo "the needle, Zoë"`,
        ),
      );
      await waitForPhase(tried.system.client, id, 'completed');
      const artifact = await until('its log is stored', async () =>
        (await ask('executor', 'artifacts', { task: id })).items.find(
          ({ storedAt }) => storedAt !== undefined,
        ),
      );
      // The output exceeds one answer: the page joins the parts.
      expect(artifact.bytes).toBeGreaterThan(600_000);
      const page = await open(`#/tasks/${id}`);
      const log = page.getByRole('log');
      await log.getByText('the needle, Zoë').waitFor();
      await page.getByLabel('Search the log').fill('NEEDLE');
      await page.getByText('1 lines found').waitFor();
      expect(await log.locator('.log-line').allTextContents()).toEqual([
        expect.stringContaining('the needle, Zoë') as string,
      ]);
      await page.getByLabel('Search the log').fill('line 1199');
      await log.getByText('line 1199 of many').waitFor();
      expect(await log.locator('.log-line').count()).toBe(1);

      const row = page.getByRole('listitem').filter({ hasText: artifact.name });
      await row.getByRole('button', { name: 'show' }).click();
      await row.getByText('line 1 of many').waitFor();
      const [download] = await Promise.all([
        page.waitForEvent('download'),
        row.getByRole('button', { name: 'save' }).click(),
      ]);
      expect(download.suggestedFilename()).toBe(artifact.name.replaceAll(/[^\w.-]/g, '_'));
      const saved = await readFile(await download.path());
      expect(saved.length).toBe(artifact.bytes);
      expect(createHash('sha256').update(saved).digest('hex')).toBe(artifact.sha256);
      expect(artifact.uri).toBe(`artifact://${artifact.sha256}`);
    });
  });
});
