import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { seriousFindings } from '../../kit/console/browser.ts';
import { type ConsoleAlone, PHONE, startConsoleAlone } from '../../kit/console/console-alone.ts';
import { chromium } from '../../kit/console/console.ts';
import type { ConsoleStandIn } from '../../kit/console/stand-in.ts';

// Starting a task on the page alone: a real browser, and a stand-in for the service that answers from
// memory.

const NEW = '#/tasks/~new';

describe.skipIf(chromium === undefined)('the form for a new task', () => {
  let alone: ConsoleAlone;
  let standIn: ConsoleStandIn;
  beforeAll(async () => {
    alone = await startConsoleAlone(chromium ?? '');
    standIn = alone.standIn;
  });
  afterAll(() => alone.stop());
  afterEach(() => alone.leave());

  const open = async (options: Parameters<ConsoleAlone['open']>[1] = {}): Promise<Page> => {
    const visitor = await alone.open(NEW, options);
    await visitor.page.getByRole('button', { name: 'Start the task' }).waitFor();
    return visitor.page;
  };
  /** A browser repeats a request by itself after a dead connection. The id makes both requests one task. */
  const startedWith = (goal: string) =>
    new Map(standIn.submissions.filter((each) => each.goal === goal).map((each) => [each.id, each]));
  const isAtTask = (page: Page) => page.waitForURL(({ hash }) => /^#\/tasks\/t-[0-9a-f]{20}$/.test(hash));

  test.each([
    ['light', { colorScheme: 'light' }],
    ['dark', { colorScheme: 'dark' }],
    ['dark, on a phone', { ...PHONE, colorScheme: 'dark' }],
  ] as const)('the form is accessible and scrolls in one direction: %s', async (_, options) => {
    const page = await open(options);
    for (const workflow of ['sample@1', 'merge@1']) {
      await page.getByRole('article').getByLabel('Workflow').selectOption(workflow);
      await page.getByRole('button', { name: 'Start the task' }).click();
      await page.getByRole('alert').waitFor();
      expect(await seriousFindings(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    }
    expect(standIn.submissions).toEqual([]);
  });

  test("the form asks for the workflow's inputs by their types, and sends them", async () => {
    const page = await open();
    await page.getByRole('article').getByLabel('Workflow').selectOption('merge@1');
    await page.getByLabel(/^Goal/).fill('merge the greeting');
    await page.getByLabel(/^Repository/).fill('/srv/app');
    await page.getByLabel(/^Command of the agent/).fill('my-agent\n--print');
    await page.getByLabel(/^Short name/).fill('greeting');
    await page.getByLabel(/^Check script/).fill('npm test\nnpm run lint');
    await page.getByText('More settings').click();
    await page.getByLabel(/^Check retries/).fill('5');
    await page.getByLabel('Squash').uncheck();
    await page.getByLabel(/^Method/).selectOption('PUT');
    await page.getByLabel(/^Headers/).fill('{"x": [1]}');
    await page.getByLabel(/^Done when/).fill('it is merged\nnothing else is');
    await page.getByRole('button', { name: 'Start the task' }).click();
    await isAtTask(page);
    await page.getByText('Task started.').waitFor();
    const [[id, sent] = []] = startedWith('merge the greeting');
    expect(sent).toEqual({
      id,
      workflow: 'merge@1',
      goal: 'merge the greeting',
      repository: '/srv/app',
      acceptanceCriteria: ['it is merged', 'nothing else is'],
      inputs: {
        agent: ['my-agent', '--print'],
        slug: 'greeting',
        cicd_script: 'npm test\nnpm run lint',
        cicd_retries: 5,
        squash: false,
        method: 'PUT',
        headers: { x: [1] },
      },
    });
  });

  test('a task is started with the keyboard alone', async () => {
    const page = await open();
    await page.goto(`${standIn.url}#/tasks`);
    await page.getByText('Choose a task.').waitFor();
    await page.keyboard.press('n');
    await page.getByRole('heading', { level: 2, name: 'New task' }).waitFor();
    await page.getByRole('button', { name: 'Start the task' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Tab');
    await page.keyboard.type('by keys');
    await page.keyboard.press('Control+Enter');
    await isAtTask(page);
    expect(startedWith('by keys').size).toBe(1);
  });

  test('an incomplete form is not sent: it shows the missing inputs and focuses the first', async () => {
    const page = await open();
    await page.getByRole('article').getByLabel('Workflow').selectOption('merge@1');
    await page.getByLabel(/^Short name/).fill('kept');
    await page.getByRole('button', { name: 'Start the task' }).click();
    await page.getByRole('alert').getByText('Some fields are missing').waitFor();
    const goal = page.getByRole('textbox', { name: 'Goal' });
    expect(await goal.getAttribute('aria-invalid')).toBe('true');
    expect(await page.evaluate('document.activeElement.id')).toBe('new-goal');
    expect(await page.locator('.field-problem').allTextContents()).toEqual([
      'Required.',
      'Required.',
      'Required.',
    ]);
    expect(await page.getByLabel(/^Short name/).inputValue()).toBe('kept');
    expect(startedWith('').size).toBe(0);
  });

  test("a refused form keeps its values and shows the service's reasons beside the fields or above the form", async () => {
    standIn.state.refusal = {
      code: 'CONTRACT_INVALID',
      message: 'invalid workflow: nodes.1.args.file: no path; something else',
      details: { problems: ['nodes.1.args.file: no path', 'something else <b>'] },
    };
    const page = await open();
    await page.getByLabel(/^Goal/).fill('append it');
    await page.getByLabel(/^File/).fill('/etc/passwd');
    await page.getByRole('button', { name: 'Start the task' }).click();
    await page.getByRole('alert').getByText('something else <b>').waitFor();
    const field = page.locator('.field', { has: page.getByLabel(/^File/) });
    expect(await field.locator('.field-problem').textContent()).toBe('no path');
    expect(await page.getByLabel(/^File/).inputValue()).toBe('/etc/passwd');
    // The user opens another view and signs in again.
    await page.goto(`${standIn.url}#/health`);
    await page.getByRole('heading', { level: 2, name: 'Health' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Your token').fill(standIn.state.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('navigation', { name: 'Pages' }).waitFor();
    await page.evaluate(`location.hash = '${NEW}'`);
    await page.getByLabel(/^Goal/).waitFor();
    expect(await page.getByLabel(/^Goal/).inputValue()).toBe('append it');
    standIn.state.refusal = undefined;
    await page.getByLabel(/^File/).fill('a.txt');
    await page.getByRole('button', { name: 'Start the task' }).click();
    await isAtTask(page);
    expect([...startedWith('append it').values()]).toMatchObject([{ inputs: { file: 'a.txt' } }]);
    // The next form is empty and belongs to another task.
    await page.evaluate(`location.hash = '${NEW}'`);
    await page.getByLabel(/^Goal/).waitFor();
    expect(await page.getByLabel(/^Goal/).inputValue()).toBe('');
  });

  describe('one task per form', () => {
    test('a double click starts one task', async () => {
      const page = await open();
      await page.getByLabel(/^Goal/).fill('clicked twice');
      await page.getByRole('button', { name: 'Start the task' }).dblclick();
      await isAtTask(page);
      expect(startedWith('clicked twice').size).toBe(1);
    });

    test('if the answer is lost, the page looks for the task and finds it', async () => {
      standIn.state.fate = 'lose-after';
      const page = await open();
      await page.getByLabel(/^Goal/).fill('lost on its way back');
      await page.getByRole('button', { name: 'Start the task' }).click();
      await isAtTask(page);
      await page.getByRole('heading', { level: 2, name: 'lost on its way back' }).waitFor();
      expect(startedWith('lost on its way back').size).toBe(1);
    });

    test('if the answer is lost and the form was edited, the page says so, and the edited form is a new task', async () => {
      const page = await open();
      standIn.state.refusal = { code: 'ORCHESTRATOR_TASK_CONFLICT', message: 'with other content' };
      await page.getByLabel(/^Goal/).fill('changed meanwhile');
      await page.getByRole('button', { name: 'Start the task' }).click();
      const earlier = page.getByRole('alert').getByRole('link', { name: /^t-/ });
      await earlier.waitFor();
      const before = await earlier.textContent();
      expect(await page.getByLabel(/^Goal/).inputValue()).toBe('changed meanwhile');
      standIn.state.refusal = undefined;
      await page.getByRole('button', { name: 'Start the task' }).click();
      await isAtTask(page);
      const started = [...startedWith('changed meanwhile').keys()];
      expect(started).toHaveLength(1);
      expect(started).not.toContain(before);
    });

    test('if the request is lost, the page says so, and the user starts the task again', async () => {
      standIn.state.fate = 'lose-before';
      const page = await open();
      await page.getByLabel(/^Goal/).fill('lost on its way there');
      await page.getByRole('button', { name: 'Start the task' }).click();
      await page.getByText('has not started yet').waitFor();
      expect(startedWith('lost on its way there').size).toBe(0);
      expect(await page.getByLabel(/^Goal/).inputValue()).toBe('lost on its way there');
      standIn.state.fate = 'answer';
      await page.getByRole('button', { name: 'Start the task' }).click();
      await isAtTask(page);
      expect(startedWith('lost on its way there').size).toBe(1);
    });
  });
});
