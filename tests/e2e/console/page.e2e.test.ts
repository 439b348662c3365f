import type { RequestFacts } from '@holdpoint/contracts/approval/commands';
import { NodeId } from '@holdpoint/contracts/values/ids';
import type { InputRequest } from '@holdpoint/contracts/workflow/input';
import { brotliCompressSync } from 'node:zlib';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { root } from '@holdpoint/infra/local/folders';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { seriousFindings, type Visitor } from '../../kit/console/browser.ts';
import { type ConsoleAlone, PHONE, startConsoleAlone } from '../../kit/console/console-alone.ts';
import { HOSTILE } from '../../kit/console/sample-data.ts';
import type { ConsoleStandIn } from '../../kit/console/stand-in.ts';
import { chromium } from '../../kit/console/console.ts';
import { untilTrue } from '../../kit/until.ts';

// The page alone: a real browser, and a stand-in for the service that answers from memory. These tests
// cover the page's own decisions.

const DIST = join(root, 'packages/console/dist');
const FIRST_LOAD_MAX_BYTES = 200_000;

let alone: ConsoleAlone;
let standIn: ConsoleStandIn;
const open: ConsoleAlone['open'] = (...visit) => alone.open(...visit);

describe.skipIf(chromium === undefined)('the console page', () => {
  beforeAll(async () => {
    alone = await startConsoleAlone(chromium ?? '');
    standIn = alone.standIn;
  });
  afterAll(() => alone.stop());
  afterEach(() => alone.leave());

  test('the first load transfers less than 200 KB, compressed', async () => {
    const index = await readFile(join(DIST, 'index.html'), 'utf8');
    const named = [...index.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, path]) => path ?? '');
    expect(named.some((path) => path.endsWith('.js'))).toBe(true);
    const sizes = await Promise.all(
      ['index.html', ...named].map(
        async (path) => brotliCompressSync(await readFile(join(DIST, path))).length,
      ),
    );
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(FIRST_LOAD_MAX_BYTES);
    // The page loads nothing from other origins.
    const sheets = (await readdir(join(DIST, 'assets'))).filter((name) => name.endsWith('.css'));
    const styles = await Promise.all(sheets.map((name) => readFile(join(DIST, 'assets', name), 'utf8')));
    expect(styles.join('\n')).not.toMatch(/url\(|@import/);
  });

  const PAGES = [
    ['the inbox', '#/inbox/a-merge00001'],
    ['a question', '#/inbox/a-stuck00001'],
    ['decided requests', '#/inbox/decided'],
    ['a task', '#/tasks/t-hmd6mtstfwhc'],
    ['recovery', '#/recovery'],
    ['health', '#/health'],
    ['settings', '#/settings'],
  ] as const;
  const LOOKS = [
    ['light', { colorScheme: 'light' }],
    ['dark, on a phone', { ...PHONE, colorScheme: 'dark' }],
  ] as const;
  test.each(
    PAGES.flatMap(([name, hash]) => LOOKS.map(([look, options]) => [name, look, hash, options] as const)),
  )('%s, %s, is accessible and scrolls in one direction', async (_, __, hash, options) => {
    const { page } = await open(hash, options);
    await page.getByText('Loading').first().waitFor({ state: 'hidden' });
    await page.locator('h2:visible, .rows:visible').first().waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  });

  test('hostile text is harmless: tags are text, control marks are named, and endless text is in parts', async () => {
    const { page } = await open('#/inbox/a-hostile001');
    const article = page.getByRole('article');
    await article.getByRole('heading', { level: 2 }).waitFor();
    const title = (await article.getByRole('heading', { level: 2 }).textContent()) ?? '';
    expect(title).toContain(HOSTILE.script);
    expect(title).toContain('10U+202E00001');
    expect(title).toContain('malloryU+200B');
    expect(title).not.toContain('\u202E');
    expect(await page.evaluate('document.body.textContent.includes("\\u202e")')).toBe(false);
    expect(
      await page.evaluate('document.querySelectorAll("#app script, #app img, #app iframe").length'),
    ).toBe(0);
    expect(await page.title()).toBe('(6) Inbox · Holdpoint');
    // 300,000 characters, twice, and once more in the arguments.
    expect(((await article.textContent()) ?? '').length).toBeLessThan(40_000);
    await article
      .getByRole('button', { name: /show more \(29/ })
      .first()
      .click();
    expect(((await article.textContent()) ?? '').length).toBeGreaterThan(60_000);
    await page.goto(`${standIn.url}#/tasks/t-hmd6mtstfwhc`);
    await page.getByRole('log').getByText('64,536 characters more').waitFor();
    expect((await page.getByRole('log').textContent()) ?? '').toContain(HOSTILE.script);
    expect(await page.title()).toBe('(6) Tasks · Holdpoint');
  });

  test('a merge shows repository, branch and target, and its patch file by file', async () => {
    const { page } = await open('#/inbox/a-merge00001');
    const article = page.getByRole('article');
    await article.getByRole('heading', { level: 2, name: 'Merge draft/greetings into main' }).waitFor();
    await article.getByText('/srv/shop', { exact: true }).waitFor();
    await article.locator('code.target').getByText('branch:main').waitFor();
    const files = article.locator('details.diff-file');
    expect(await files.locator('summary').allTextContents()).toEqual([
      'src/greetings.ts +4 −2',
      'docs/greetings.md +2 −0',
    ]);
    const added = files.last().getByText('In English, German and French.');
    await added.waitFor();
    await files.last().locator('summary').click();
    await added.waitFor({ state: 'hidden' });
  });

  test('the page is usable with the keyboard alone', async () => {
    const { page } = await open('#/inbox');
    await page.getByText('Append one line to greetings.txt').waitFor();
    await page.keyboard.press('j');
    await page.getByRole('heading', { level: 2, name: 'Deploy shop 2.4.0 to production' }).waitFor();
    await page.keyboard.press('j');
    await page.getByRole('heading', { level: 2, name: 'Merge draft/greetings into main' }).waitFor();
    await page.getByRole('article').getByText('/srv/shop', { exact: true }).waitFor();
    await page.keyboard.press('c');
    await page.keyboard.type('one sentence less');
    await page.keyboard.press('Control+Enter');
    await page.getByText('Decision recorded.').waitFor();
    expect(standIn.decisions.at(-1)).toMatchObject({
      id: 'a-merge00001',
      decision: 'request_changes',
      comment: 'one sentence less',
    });
    await page.locator('body').click({ position: { x: 700, y: 850 } });
    await page.keyboard.press('4');
    await page.getByRole('heading', { level: 2, name: 'Health' }).waitFor();
    await page.keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  });

  test('every press of a key counts, also before the page has drawn the one before', async () => {
    const { page } = await open('#/inbox');
    await page.getByText('Append one line to greetings.txt').waitFor();
    const press = 'dispatchEvent(new KeyboardEvent("keydown", { key: "j" }))';
    await page.evaluate(`${press}; ${press}; ${press}`);
    await page.getByRole('heading', { level: 2, name: 'Append one line to greetings.txt' }).waitFor();
    expect(await page.evaluate('location.hash')).toBe('#/inbox/a-write00001');
  });

  test('the page shows that a service does not answer', async () => {
    const { page } = await open('#/health');
    await page.locator('[data-service=executor]').getByText('No answer', { exact: true }).waitFor();
    await page.locator('[data-service=recovery]').getByText('Working').waitFor();
    await page.getByText('goal: Required').waitFor();
    expect(await page.locator('.card.down').count()).toBe(1);
  });

  describe('one decision per click', () => {
    const approve = async ({ page }: Visitor): Promise<void> => {
      await page.getByRole('button', { name: 'Approve' }).click();
      await page.getByRole('button', { name: 'Confirm: Approve' }).click();
    };
    /**
     * A browser repeats a request by itself after a dead connection. The key makes both requests one
     * decision.
     */
    const sent = () => new Set(standIn.keysOf('a-write00001')).size;

    test('if the answer to a decision is lost, the page looks for the decision and finds it', async () => {
      standIn.state.fate = 'lose-after';
      const before = sent();
      const visitor = await open('#/inbox/a-write00001');
      await approve(visitor);
      await visitor.page.getByText('your decision arrived').waitFor();
      expect(sent()).toBe(before + 1);
    });

    test('if a decision is lost, the page looks for it and says so, and the user sends it again', async () => {
      standIn.state.fate = 'lose-before';
      const before = sent();
      const visitor = await open('#/inbox/a-write00001');
      await approve(visitor);
      await visitor.page.getByText('your decision did not arrive').waitFor();
      expect(sent()).toBe(before);
      standIn.state.fate = 'answer';
      await visitor.page.getByRole('button', { name: 'Confirm: Approve' }).click();
      await visitor.page.getByText('Decision recorded.').waitFor();
      expect(sent()).toBe(before + 1);
    });

    test('a stale page says that another person decided first, and shows that decision', async () => {
      const visitor = await open('#/inbox/a-write00001');
      await visitor.page.getByRole('button', { name: 'Reject' }).click();
      // Another person decides, and the page gets no notice.
      standIn.state.approvals = standIn.state.approvals.map((view) =>
        view.id === 'a-write00001'
          ? { ...view, status: 'approved', decidedBy: 'grace', decidedAt: Date.now() }
          : view,
      );
      await visitor.page.getByRole('button', { name: 'Confirm: Reject' }).click();
      await visitor.page.getByText('Already decided.').waitFor();
      await visitor.page.getByRole('article').getByText('grace').waitFor();
      expect(await visitor.page.getByRole('button', { name: 'Confirm: Reject' }).count()).toBe(0);
    });
  });

  test("the message about a user's own decision stays despite notices about others", async () => {
    const { page } = await open('#/recovery');
    const again = page.getByRole('button', { name: 'Close circuit' });
    await again.waitFor();
    // From here on time stands still: the message stays until another one replaces it.
    await page.clock.install();
    await page.clock.pauseAt(Date.now() + 60_000);
    await again.click();
    await page.getByRole('button', { name: 'Confirm: use it again' }).click();
    await page.getByText('Circuit closed.').waitFor();
    const [approval] = standIn.state.approvals;
    if (approval === undefined) throw new TypeError('there is nothing to tell of');
    standIn.tell('requested', approval);
    await page.getByText(/^New request: /).waitFor();
    expect(await page.getByText('Circuit closed.').count()).toBe(1);
  });

  test('a page without connection says so, and later catches up with all missed changes', async () => {
    const { page } = await open('#/inbox');
    await page.getByText('Live', { exact: true }).waitFor();
    standIn.state.approvals = standIn.state.approvals.filter(({ id }) => id !== 'a-notify0001');
    standIn.disconnect();
    await page.getByText('Tell #builds that the build is done').waitFor({ state: 'detached' });
    await page.getByText('Live', { exact: true }).waitFor();
    expect(await page.locator('[data-row]').count()).toBe(
      standIn.state.approvals.filter(({ status }) => status === 'pending').length,
    );
  });

  test('a page with an expired token asks for another, and says that nothing was decided', async () => {
    const visitor = await open('#/inbox/a-write00001');
    await visitor.page.getByRole('button', { name: 'Approve' }).click();
    standIn.state.token = 'another';
    await visitor.page.getByRole('button', { name: 'Confirm: Approve' }).click();
    await visitor.page.getByText('Your token expired').waitFor();
    expect(await visitor.page.evaluate('sessionStorage.length + localStorage.length')).toBe(0);
    await visitor.page.getByLabel('Your token').fill('wrong');
    await visitor.page.getByRole('button', { name: 'Sign in' }).click();
    await visitor.page.getByText('Unknown or expired token').waitFor();
    expect(await visitor.page.evaluate('document.cookie + location.href')).not.toMatch(
      /wrong|another|hp_sample/,
    );
  });

  test('a request and its task show criteria, reviews, artifact and rollback hint, also when they are missing', async () => {
    const facts: RequestFacts = {
      goal: 'Greet the reader',
      acceptanceCriteria: ['it is short', HOSTILE.script],
      phase: 'awaiting_approval',
      attempt: 2,
      reviews: { spec: { kind: 'spec', verdict: 'passed', summary: 'as agreed', by: 'grace' } },
    };
    const { state } = standIn;
    state.approvals = state.approvals.map((view) => ({
      ...view,
      ...(view.id === 'a-write00001' && { facts }),
    }));
    const artifact = { kind: 'plan_doc', name: 'plan', uri: 'git:draft/greeting@4f2a9c1', attempt: 1 };
    state.tasks = state.tasks.map((view) => ({
      ...view,
      acceptanceCriteria: ['it is short'],
      reviews: facts.reviews,
      artifact: { ...artifact, node: NodeId.parse('docs') },
    }));
    const { page } = await open('#/inbox/a-write00001');
    const article = page.getByRole('article');
    for (const text of [
      'passed by grace: as agreed',
      '2. <script',
      'awaiting_approval, attempt 2',
      'none provided',
    ])
      await article.getByText(text).first().waitFor();
    expect(await page.evaluate('document.querySelectorAll("#app script").length')).toBe(0);
    await page.goto(`${standIn.url}#/tasks/t-hmd6mtstfwhc`);
    await article.getByText('passed by grace: as agreed').first().waitFor();
    await article.getByText('git:draft/greeting@4f2a9c1').first().waitFor();
  });

  test('a question about an effect in doubt shows the last lines of its output', async () => {
    standIn.state.approvals = standIn.state.approvals.map((view) => ({
      ...view,
      ...(view.id === 'a-write00001' && {
        node: NodeId.parse('docs'),
        inDoubt: { epoch: 1, reason: 'the executor was killed' },
      }),
    }));
    const { page } = await open('#/inbox/a-write00001');
    const output = page.getByRole('article').locator('details').filter({ hasText: 'Last lines of output' });
    await output.getByText('docs: page 40 of 40').waitFor();
    const text = (await output.last().textContent()) ?? '';
    // Two of the twenty lines have other texts.
    expect(text.match(/docs: page \d+ of 40/g)).toHaveLength(18);
    expect(text).not.toContain('docs: page 20 of 40');
  });

  test('a question shows its own answers, and the page sends the chosen ones', async () => {
    const options = ['test', 'live'].map((value) => ({ value, label: value }));
    const input: InputRequest = {
      kind: 'form',
      fields: [
        { type: 'choice', name: 'stage', label: 'Stage', help: 'Where to?', options, required: true },
        { type: 'number', name: 'count', label: 'How many', integer: true, required: false },
        { type: 'boolean', name: 'dry', label: 'Only try', required: true },
      ],
    };
    standIn.state.approvals = standIn.state.approvals.map((view) => ({
      ...view,
      ...(view.id === 'a-write00001' && { input }),
    }));
    const { page } = await open('#/inbox/a-write00001');
    await page.getByText('Where to?').waitFor();
    await page.getByLabel('Stage').selectOption('live');
    await page.getByLabel('How many').fill('3');
    await page.getByRole('button', { name: 'Send the answer' }).click();
    await untilTrue('the answer has arrived', async () => standIn.decisions.at(-1)?.id === 'a-write00001');
    expect(standIn.decisions.at(-1)).toMatchObject({
      decision: 'respond',
      response: { stage: 'live', count: 3, dry: false },
    });
  });

  test('the page does not save an incomplete artifact, and says so', async () => {
    const { page } = await open('#/tasks/t-hmd6mtstfwhc');
    const downloads: string[] = [];
    page.on('download', (download) => downloads.push(download.suggestedFilename()));
    await page.getByRole('button', { name: 'save' }).first().click();
    await page.getByRole('status').getByText('incomplete download').waitFor();
    expect(downloads).toEqual([]);
  });

  test('the page replays a task and verifies the audit log itself', async () => {
    const { page } = await open('#/tasks/t-hmd6mtstfwhc');
    const steps = page
      .getByRole('listitem')
      .filter({ has: page.getByRole('button', { name: /^Write the greetings/ }) });
    await steps.getByText('Done').waitFor();
    const slider = page.getByRole('slider', { name: 'Replay' });
    await slider.focus();
    // From the twelfth event to the sixth: the first attempt has just failed.
    for (let i = 0; i < 6; i += 1) await page.keyboard.press('ArrowLeft');
    await steps.getByText('Retrying').waitFor();
    await page
      .getByRole('img', { name: /^Workflow with 6 steps/ })
      .getByText('! Retrying')
      .waitFor();
    await page.getByRole('button', { name: 'Verify the whole log' }).click();
    await page.getByText('The log is intact: 4 lines').waitFor();
    expect(await page.getByText('✓ verified, signed').count()).toBe(2);
    standIn.state.audit = standIn.state.audit.map((line) =>
      line.seq === 2 ? { ...line, entry: line.entry.replace('ada', 'eve') } : line,
    );
    await page.getByRole('button', { name: 'Verify the whole log' }).click();
    await page.getByText('The log is damaged').waitFor();
    await page.getByText('line 2: its hash does not match the content').waitFor();
  });
});
