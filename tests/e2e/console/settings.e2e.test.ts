import { sha256Of } from '@holdpoint/contracts/values/json';
import { accessTokenIdOf } from '@holdpoint/contracts/values/ids';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { startChromium, visit } from '../../kit/console/browser.ts';
import { type ConsoleAlone, startConsoleAlone } from '../../kit/console/console-alone.ts';
import { chromium } from '../../kit/console/console.ts';

// The page alone, with a stand-in for the service.

let alone: ConsoleAlone;

describe.skipIf(chromium === undefined)('settings in the console', () => {
  beforeAll(async () => {
    alone = await startConsoleAlone(chromium ?? '');
  });
  afterAll(() => alone.stop());
  afterEach(() => alone.leave());

  test('a person is added by keyboard, and their token is shown once', async () => {
    const { page } = await alone.open('#/inbox');
    await page.keyboard.press('5');
    await page.getByRole('heading', { level: 2, name: 'Settings' }).waitFor();
    await page.getByLabel('Name', { exact: true }).focus();
    await page.keyboard.type('Linus');
    await page.keyboard.press('Tab');
    await page.keyboard.type('release, on-call,release');
    await page.keyboard.press('Enter');
    const secret = (await page.locator('.secret pre').textContent()) ?? '';
    expect(secret).toMatch(/^hpt_[\w-]{43}$/);
    await page.locator('[data-person=linus]').getByText('release, on-call').waitFor();
    // The service knows the hash alone.
    const { people, tokens } = alone.standIn.state;
    expect(people.at(-1)).toMatchObject({ name: 'linus', groups: ['release', 'on-call'] });
    expect(tokens.at(-1)).toMatchObject({ principal: 'linus', id: accessTokenIdOf(sha256Of(secret)) });
    await page.getByRole('button', { name: 'Hide it' }).click();
    expect(await page.getByText(secret).count()).toBe(0);
  });

  test('a refused name is explained, and nothing is added', async () => {
    const { page } = await alone.open('#/settings');
    const before = alone.standIn.state.people.length;
    await page.getByLabel('Name', { exact: true }).fill('ada');
    await page.getByLabel('Groups, separated by commas').fill('user:eve');
    alone.standIn.state.refusePerson = 'groups.0: the prefixes user:, group: and role: are reserved';
    await page.getByRole('button', { name: 'Add and show token' }).click();
    await page.getByRole('alert').getByText('are reserved').waitFor();
    expect(alone.standIn.state.people).toHaveLength(before);
    expect(await page.locator('.secret').count()).toBe(0);
  });

  test('removal and revocation ask once more before they act', async () => {
    const { page } = await alone.open('#/settings');
    await page.getByRole('button', { name: 'Revoke laptop of Grace of grace' }).click();
    await page.getByRole('button', { name: 'Confirm: Revoke' }).click();
    await page.getByText('Token revoked.').waitFor();
    await page.getByRole('button', { name: 'Remove grace' }).click();
    expect(alone.standIn.state.people.at(-1)?.status).toBe('active');
    await page.getByRole('button', { name: 'Confirm: Remove' }).click();
    await page.getByText('grace was removed.').waitFor();
    await page.locator('[data-person=grace]').waitFor({ state: 'detached' });
  });

  test('a standing rule is listed and revoked after a confirmation', async () => {
    const [rule] = alone.standIn.state.rules;
    if (rule === undefined) throw new TypeError('no rule');
    const { page } = await alone.open('#/settings');
    const row = page.locator(`[data-rule=${rule.id}]`);
    await row.getByText('Approves cap.file.append, on file:greetings.txt').waitFor();
    await row.getByRole('button', { name: `Revoke ${rule.name}` }).click();
    await row.getByText('Matching requests wait for a person from now on.').waitFor();
    await row.getByRole('button', { name: 'Back' }).click();
    expect(alone.standIn.state.rules).toContain(rule);
    await row.getByRole('button', { name: `Revoke ${rule.name}` }).click();
    await row.getByRole('button', { name: 'Confirm: Revoke' }).click();
    await page.getByText('Rule revoked.').waitFor();
    await row.waitFor({ state: 'detached' });
    expect(alone.standIn.state.rules).not.toContain(rule);
  });

  test('a user without the rights sees why, and no form', async () => {
    alone.standIn.state.isAdministrator = false;
    alone.standIn.state.scopes = ['approvals:read', 'approvals:decide'];
    const { page } = await alone.open('#/settings');
    await page.getByText('Only administrators see and change all people').waitFor();
    await page.getByText('lacks the scope tokens:write').waitFor();
    expect(await page.locator('.settings form').count()).toBe(0);
    expect(await page.getByRole('button', { name: /Revoke|Remove/ }).count()).toBe(0);
  });

  test('a sign-in link opens a session once, and leaves the address', async () => {
    const browser = await startChromium(chromium ?? '');
    try {
      const link = `${alone.standIn.url}#/sign-in/${alone.standIn.state.code}`;
      const { page } = await visit(browser, link);
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();
      expect(page.url()).toBe(`${alone.standIn.url}#/inbox`);
      await page.reload();
      await page.getByRole('navigation', { name: 'Pages' }).waitFor();
      const { page: second } = await visit(browser, link);
      await second.getByRole('alert').getByText('This sign-in link was used already').waitFor();
      expect(second.url()).not.toContain('hpc_');
    } finally {
      await browser.close();
    }
  });

  test('a link of another person does not end the session of a tab', async () => {
    const { page } = await alone.open('#/tasks');
    const { code } = alone.standIn.state;
    await page.evaluate(`location.hash = '#/sign-in/${code}'`);
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    expect(alone.standIn.state.code).toBe(code);
    expect(page.url()).not.toContain(code);
  });

  test('the title of the tab counts the requests that wait for this user', async () => {
    const { page } = await alone.open('#/inbox');
    await page.getByText('Append one line to greetings.txt').waitFor();
    const own = alone.standIn.state.approvals.filter(({ status }) => status === 'pending').length;
    expect(await page.title()).toBe(`(${String(own)}) Inbox · Holdpoint`);
    await page.goto(`${alone.standIn.url}#/inbox/a-write00001`);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('button', { name: 'Confirm: Approve' }).click();
    await page.waitForFunction(`document.title.startsWith('(${String(own - 1)})')`);
  });

  test('an approved request follows its step to the result', async () => {
    const [task] = alone.standIn.state.tasks;
    const [node] = task?.nodes ?? [];
    if (task === undefined || node === undefined) throw new TypeError('no task');
    const { page } = await alone.open('#/inbox/a-write00001');
    const as = (job: 'running' | 'succeeded', detail?: string) => {
      alone.standIn.state.tasks = [
        {
          ...task,
          id: 't-followed0001' as typeof task.id,
          nodes: [
            {
              ...node,
              id: 'append' as typeof node.id,
              job,
              approval: 'a-write00001' as never,
              ...(detail !== undefined && { detail }),
            },
          ],
        },
      ];
    };
    as('running');
    alone.standIn.state.approvals = alone.standIn.state.approvals.map((view) =>
      view.id === 'a-write00001'
        ? { ...view, task: 't-followed0001' as typeof view.task, node: 'append' as typeof view.node }
        : view,
    );
    await page.reload();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('button', { name: 'Confirm: Approve' }).click();
    await page.getByText('Running now').waitFor();
    as('succeeded', 'one line appended to greetings.txt');
    await page.getByText('one line appended to greetings.txt').waitFor();
    expect(await page.getByText('Running now').count()).toBe(0);
  });

  test('an unknown task offers no retry, and all decisions are listed together', async () => {
    const { page } = await alone.open('#/tasks/t-nosuch');
    await page.getByText('no such thing').waitFor();
    expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    await page.goto(`${alone.standIn.url}#/inbox/decided`);
    expect(await page.getByLabel('Outcome').inputValue()).toBe('decided');
  });
});
