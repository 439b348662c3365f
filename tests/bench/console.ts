import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Client } from '@holdpoint/cli/bus/client';
import { root } from '@holdpoint/infra/local/folders';
import type { Page } from 'playwright-core';
import { startChromium, visit } from '../kit/console/browser.ts';
import { requestOf } from '../kit/surfaces/requests.ts';
import { connectOrchestrator } from './orchestrator.ts';
import { type Percentiles, percentiles, round } from './report/percentiles.ts';

export type ConsoleMeasurement = {
  readonly measurement: 'console';
  /** Transferred bytes until the inbox was shown, including API answers. */
  readonly firstLoadKb: number;
  /** The size of all files of the page, uncompressed. */
  readonly filesKb: number;
  /** From the navigation of a signed-in user to a usable inbox. */
  readonly interactiveMs: Percentiles;
  /** From the publish of a request, or the answer to its decision, until the list shows the change. */
  readonly requestToShownMs: Percentiles;
  readonly decisionToShownMs: Percentiles;
};

const LOADS = 10;

/** Milliseconds from the start of the navigation to a live inbox. */
const load = async (page: Page): Promise<number> => {
  const started = performance.now();
  await page.reload({ waitUntil: 'commit' });
  await page.getByText('Live', { exact: true }).waitFor();
  await page.locator('.rows').waitFor({ state: 'attached' });
  return performance.now() - started;
};

/** Bytes that the browser has received since the navigation. */
const TRANSFERRED =
  '[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].reduce((sum, { transferSize }) => sum + transferSize, 0)';

const bytesOf = async (folder: string): Promise<number> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async (entry) => (await stat(join(entry.parentPath, entry.name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
};

/** Loads the console in a browser, then publishes and decides requests one by one. */
export const measureConsole = async (
  client: Client,
  where: { readonly natsUrl: string; readonly credentialsDir: string; readonly httpPort: number },
  {
    chromium,
    token,
    requests,
  }: { readonly chromium: string; readonly token: string; readonly requests: number },
): Promise<ConsoleMeasurement> => {
  const browser = await startChromium(chromium);
  const connection = await connectOrchestrator(where.natsUrl, where.credentialsDir);
  try {
    const { page } = await visit(browser, `http://127.0.0.1:${String(where.httpPort)}/`, token);
    await page.getByText('Live', { exact: true }).waitFor();
    const firstLoad = Number(await page.evaluate(TRANSFERRED));
    const loads: number[] = [];
    for (let i = 0; i < LOADS; i += 1) loads.push(await load(page));
    const [shown, gone]: [number[], number[]] = [[], []];
    for (let i = 0; i < requests; i += 1) {
      const request = requestOf();
      const row = page.locator(`[data-row="${request.id}"]`);
      const started = performance.now();
      connection.publish(subjects.approvalCommand('request'), request);
      await row.waitFor({ state: 'attached' });
      shown.push(performance.now() - started);
      await client.call('approvals', 'decide', {
        id: request.id,
        digest: request.digest,
        decision: 'reject',
      });
      const decided = performance.now();
      await row.waitFor({ state: 'detached' });
      gone.push(performance.now() - decided);
    }
    return {
      measurement: 'console',
      firstLoadKb: round(firstLoad / 1_000, 1),
      filesKb: round((await bytesOf(join(root, 'packages/console/dist'))) / 1_000, 1),
      interactiveMs: percentiles(loads),
      requestToShownMs: percentiles(shown),
      decisionToShownMs: percentiles(gone),
    };
  } finally {
    await browser.close();
    await connection.close();
  }
};
