import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { seriousFindings, type Visitor } from '../../kit/console/browser.ts';
import { type ConsoleAlone, PHONE, startConsoleAlone } from '../../kit/console/console-alone.ts';
import type { ConsoleStandIn } from '../../kit/console/stand-in.ts';
import { chromium } from '../../kit/console/console.ts';
import { untilTrue } from '../../kit/until.ts';

// The page's queries over all tasks, and its charts of their failure counts.

const LOOKS = [
  ['light', { colorScheme: 'light' }],
  ['dark, on a phone', { ...PHONE, colorScheme: 'dark' }],
] as const;
const DAY = 86_400_000;

let alone: ConsoleAlone;
let standIn: ConsoleStandIn;
const open: ConsoleAlone['open'] = (...visit) => alone.open(...visit);

describe.skipIf(chromium === undefined)('lists on the console page', () => {
  beforeAll(async () => {
    alone = await startConsoleAlone(chromium ?? '');
    standIn = alone.standIn;
  });
  afterAll(() => alone.stop());
  afterEach(() => alone.leave());

  describe('failures over time', () => {
    const table = ({ page }: Visitor) => page.getByRole('group', { name: 'Failures by class, in numbers' });
    const rowsOf = async (visitor: Visitor): Promise<readonly string[]> => {
      await table(visitor).getByRole('row').first().waitFor();
      return table(visitor).getByRole('row').allInnerTexts();
    };

    test.each(LOOKS)('failures are a chart and a table with equal numbers: %s', async (_, options) => {
      const visitor = await open('#/recovery', options);
      const rows = await rowsOf(visitor);
      expect(rows.map((row) => row.split('\t').slice(1).join(' ').replaceAll(/\s+/g, ' '))).toEqual([
        expect.stringMatching(/All$/) as string,
        '1 3 0 4',
        '0 0 12 12',
        '1 3 12 16',
      ]);
      const bars = visitor.page.getByRole('img', { name: /^Failures by class over time/ }).locator('rect');
      const heights = await Promise.all(
        (await bars.all()).map(async (bar) => Number(await bar.getAttribute('height'))),
      );
      // Seven days of three classes each; twelve is the highest count.
      expect(heights.length).toBe(21);
      expect(heights.filter((height) => height > 0).length).toBe(3);
      expect(await visitor.page.locator('.chart .axis text').allTextContents()).toEqual(['12', '0']);
      expect(await seriousFindings(visitor.page)).toEqual([]);
      expect(await visitor.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    });

    test('failures of a day are by local hour, those of a week and a month by UTC day', async () => {
      // In this time zone the date differs from UTC for most of the day.
      const visitor = await open('#/recovery', { timezoneId: 'Pacific/Kiritimati' });
      const { page } = visitor;
      const today = Math.floor(Date.now() / DAY) * DAY;
      const day = (at: number): string =>
        new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' }).format(at);
      await rowsOf(visitor);
      expect([day(today), day(today - DAY)]).toContain((await rowsOf(visitor))[1]?.split('\t')[0]);
      await page.getByText('One bar per day (UTC).').waitFor();
      await page.getByRole('button', { name: 'Day', exact: true }).click();
      await page.getByText('One bar per hour (your time).').waitFor();
      expect((await rowsOf(visitor))[1]).toMatch(/\d{1,2}:00:00\t/);
      expect(await page.locator('.chart rect').count()).toBe(24 * 3);
      await page.getByRole('button', { name: 'Month', exact: true }).click();
      await page.getByText('One bar per day (UTC).').waitFor();
      expect(await page.locator('.chart rect').count()).toBe(31 * 3);
      expect(
        await page.getByRole('button', { name: 'Month', exact: true }).getAttribute('aria-pressed'),
      ).toBe('true');
      standIn.state.classes = [];
      await page.getByRole('button', { name: 'Week', exact: true }).click();
      await page.getByText('No failures in this period.').waitFor();
    });
  });

  describe('the task search', () => {
    const lastRequest = () => standIn.lists.at(-1);

    test('the search covers all tasks by every field of the form', async () => {
      const { page } = await open('#/tasks');
      const rows = page.getByRole('region', { name: 'Tasks' }).getByRole('listitem');
      await rows.nth(2).waitFor();
      await page.getByPlaceholder('Words or an ID').fill(' append ');
      await untilTrue('only one is there', async () => (await rows.count()) === 1);
      expect(lastRequest()).toEqual({ limit: 50, search: 'append' });
      await page.getByLabel('State').selectOption('completed');
      await page.getByPlaceholder('Workflow').fill('draft@2');
      await page.getByPlaceholder('Requested by').fill('ada');
      await page.getByLabel('Submitted').selectOption('7');
      await page.getByText('No tasks.').waitFor();
      const { createdAfter, ...rest } = lastRequest() ?? {};
      expect(rest).toEqual({
        limit: 50,
        search: 'append',
        phase: 'completed',
        workflow: 'draft@2',
        requestedBy: 'ada',
      });
      expect(Math.abs(Date.now() - 7 * DAY - Number(createdAfter))).toBeLessThan(600_000);
      await page.getByPlaceholder('Words or an ID').fill('t-hmd6mtstfwhc');
      await page.getByPlaceholder('Words or an ID').press('Enter');
      await page.getByRole('heading', { level: 2, name: 'Greet the reader in three languages' }).waitFor();
    });

    test('the search continues on further pages, and a new query starts at the first', async () => {
      standIn.state.more = '1768469400000.t-hmd6mtstfwhc';
      const { page } = await open('#/tasks');
      await page.getByText('Not all tasks were searched: Older searches on.').waitFor();
      await page.getByRole('button', { name: 'Older ›' }).click();
      await page.getByText('page 2').waitFor();
      await untilTrue('the next page is asked for', () =>
        Promise.resolve(lastRequest()?.['after'] === standIn.state.more),
      );
      await page.getByPlaceholder('Workflow').fill('nothing');
      await page.getByText('No match among the latest tasks: Older searches on.').waitFor();
      await page.getByText('page 1').waitFor();
      expect(lastRequest()).toEqual({ limit: 50, workflow: 'nothing' });
    });

    test.each(LOOKS)('the task search is accessible: %s', async (_, options) => {
      const { page } = await open('#/tasks', options);
      await page.getByPlaceholder('Requested by').waitFor();
      expect(await seriousFindings(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    });
  });
});
