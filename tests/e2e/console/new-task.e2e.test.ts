import { createHash } from 'node:crypto';
import type { ProgramDefinition } from '@holdpoint/contracts/program/definition';
import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import type { Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { seriousFindings } from '../../kit/console/browser.ts';
import { chromium, type Console, startConsole } from '../../kit/console/console.ts';
import { newTaskId, waitForPhase } from '../../kit/tasks/tasks.ts';
import { until } from '../../kit/until.ts';

// Starting tasks in the console: a real browser and the real services, whose state is checked.

describe.skipIf(chromium === undefined)('a new task in the console', () => {
  let tried: Console;
  beforeAll(async () => {
    tried = await startConsole(chromium ?? '');
  });
  afterAll(() => tried.stop());
  afterEach(() => tried.leave());

  const ask: Console['system']['client']['ask'] = (...asked) => tried.system.client.ask(...asked);
  const open = async (): Promise<Page> => {
    const { page } = await tried.open('#/tasks');
    await page.getByRole('link', { name: 'New task' }).click();
    await page.getByRole('button', { name: 'Start the task' }).waitFor();
    return page;
  };
  /** The task on the page. */
  const shown = async (page: Page): Promise<TaskId> => {
    await page.waitForURL(({ hash }) => /^#\/tasks\/t-[0-9a-f]{20}$/.test(hash));
    return TaskId.parse(new URL(page.url()).hash.replace('#/tasks/', ''));
  };
  const submitted = async (id: TaskId) =>
    (await ask('orchestrator', 'history', { id })).events[0]?.data ?? {};

  test('a signed-in user starts a task and sees its page', async () => {
    const goal = `say hello ${newTaskId()}`;
    const page = await open();
    await page.getByRole('article').getByLabel('Workflow').selectOption('sample@1');
    await page.getByText('Append a line to a file after approval').waitFor();
    await page.getByLabel(/^Goal/).fill(goal);
    await page.getByLabel(/^File/).fill('hello.txt');
    expect(await seriousFindings(page)).toEqual([]);
    // Repeated clicks change nothing.
    await page.getByRole('button', { name: 'Start the task' }).dblclick();
    const id = await shown(page);
    await page.getByRole('heading', { level: 2, name: goal }).waitFor();
    await page.getByRole('link', { name: 'Decide' }).waitFor();
    expect(await waitForPhase(tried.system.client, id, 'awaiting_approval')).toMatchObject({
      workflow: 'sample@1',
      goal,
      requestedBy: 'operator',
    });
    expect(await submitted(id)).toMatchObject({ inputs: { file: 'hello.txt' }, requestedBy: 'operator' });
    const { items } = await ask('orchestrator', 'list', { limit: 500 });
    expect(items.filter((task) => task.goal === goal).map((task) => task.id)).toEqual([id]);
    const approval = (await ask('orchestrator', 'get', { id })).nodes.find((node) => node.id === 'append');
    const request = await until('it is requested', () =>
      ask('approvals', 'get', { id: approval?.approval as never }),
    );
    expect(request).toMatchObject({
      requestedBy: 'operator',
      effect: { args: { file: 'hello.txt', line: goal } },
    });
  });

  test('a refused task shows the reason beside its field, and starts after a correction', async () => {
    const page = await open();
    await page.getByRole('article').getByLabel('Workflow').selectOption('http@1');
    await page.getByLabel(/^Goal/).fill('tell them');
    await page.getByLabel(/^Address/).fill('file:///etc/passwd');
    await page.getByLabel(/^Body/).fill('{"order": 7}');
    await page.getByRole('button', { name: 'Start the task' }).click();
    await page.getByRole('alert').getByText('The task cannot be started like this.').waitFor();
    const address = page.locator('.field', { has: page.getByLabel(/^Address/) });
    await address.locator('.field-problem').waitFor();
    expect(await page.getByLabel(/^Body/).inputValue()).toBe('{"order": 7}');
    await page.getByLabel(/^Address/).fill('https://api.example/orders');
    await page.getByRole('button', { name: 'Start the task' }).click();
    const id = await shown(page);
    expect(await submitted(id)).toMatchObject({
      inputs: { url: 'https://api.example/orders', body: { order: 7 } },
    });
    // No executor here allows the target, so approvals may have refused it already.
    await ask('orchestrator', 'cancel', { id, ifOpen: true });
  });

  test('a task in a repository gets the repository, and its parameters with their types', async () => {
    const page = await open();
    await page.getByRole('article').getByLabel('Workflow').selectOption('draft@1');
    await page.getByLabel(/^Goal/).fill('greet people by name');
    await page.getByLabel(/^Command of the agent/).fill('sh\n-c\necho a plan');
    await page.getByRole('button', { name: 'Start the task' }).click();
    const repository = page.locator('.field', { has: page.getByLabel(/^Repository/) });
    await repository.getByText('Required.').waitFor();
    await page.getByLabel(/^Repository/).fill(tried.repository);
    await page.getByRole('button', { name: 'Start the task' }).click();
    // The service knows the missing parameter and names the valid ones.
    await page.getByText('Choose one of: Branch, Short name').waitFor();
    await page.getByLabel(/^Short name/).fill('greeting');
    await page.getByRole('button', { name: 'Start the task' }).click();
    const id = await shown(page);
    await waitForPhase(tried.system.client, id, 'completed');
    expect(await submitted(id)).toMatchObject({
      repository: tried.repository,
      workflow: 'draft@1',
      inputs: { agent: ['sh', '-c', 'echo a plan'], slug: 'greeting' },
    });
    await page.locator('.badges').getByText('Done').waitFor();
  });

  test('a task of a program takes any object', async () => {
    const program: ProgramDefinition = {
      id: `reply-${newTaskId()}`,
      version: '7',
      code: createHash('sha256').update('reply').digest('hex'),
      initial: NodeId.parse('done'),
      phases: [{ type: 'terminal', id: NodeId.parse('done'), outcome: 'succeeded' }],
    };
    await ask('orchestrator', 'program_register', { programs: [program] });
    const page = await open();
    await page.getByRole('article').getByLabel('Workflow').selectOption(`${program.id}@7`);
    await page.getByLabel(/^Goal/).fill('reply to ada');
    await page.getByLabel(/^Inputs/).fill('["ada"]');
    await page.getByRole('button', { name: 'Start the task' }).click();
    await page.getByText('Enter a JSON object').waitFor();
    await page.getByLabel(/^Inputs/).fill('{"who": "ada"}');
    await page.getByRole('button', { name: 'Start the task' }).click();
    const id = await shown(page);
    expect(await submitted(id)).toMatchObject({
      inputs: { who: 'ada' },
      program: { id: program.id, version: '7' },
      requestedBy: 'operator',
    });
  });
});
