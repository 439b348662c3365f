import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '@holdpoint/infra/local/folders';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** Where Linux distributions have it; or wherever somebody says. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser of this machine; undefined where there is none. */
export const findChromium = (env: NodeJS.ProcessEnv): string | undefined =>
  [env['HOLDPOINT_CHROMIUM'] ?? '', ...PLACES].find((path) => path !== '' && existsSync(path));

/** Asks nobody on the network for anything, and works in a container. */
const ARGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-dev-shm-usage',
];

/** Builds the page, if it is not there or of other sources: whoever runs a test by itself has built nothing. */
export const buildPage = async (): Promise<void> => {
  await promisify(execFile)(process.execPath, [join(root, 'packages/console/build.mjs')]);
};

export const startChromium = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, args: ARGS, timeout: 60_000 });

type ContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>;

/** Somebody with a browser of his own, and what his browser complains of: errors of scripts, and what the policy forbids. */
export type Visitor = {
  readonly page: Page;
  readonly context: BrowserContext;
  readonly complaints: readonly string[];
};

export const visit = async (
  browser: Browser,
  url: string,
  token?: string,
  options: ContextOptions = {},
): Promise<Visitor> => {
  const context = await browser.newContext({
    viewport: { width: 1_280, height: 860 },
    locale: 'en-GB',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // What the network says of a service that is away is what the test is about.
    if (
      message.type() === 'error' &&
      !/Failed to load resource|WebSocket connection|net::ERR/.test(message.text())
    )
      complaints.push(message.text());
  });
  page.on('dialog', (dialog) => {
    complaints.push(`a dialogue: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  if (token !== undefined) await signIn(page, token);
  return { page, context, complaints };
};

export const signIn = async (page: Page, token: string): Promise<void> => {
  await page.getByLabel('Your token').fill(token);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('navigation', { name: 'Pages' }).waitFor();
};

type AxeResult = {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string | null;
    readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
  }[];
};

/** What axe finds on a page that keeps somebody from using it: each finding with where it is. */
export const seriousFindings = async (page: Page): Promise<readonly string[]> => {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // Evaluated by the debugger, so the policy of the page stays as it is.
  await page.evaluate(source);
  const { violations } = await page.evaluate<AxeResult>('axe.run(document, { resultTypes: ["violations"] })');
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(
        ({ html, failureSummary = '' }) => `${id}: ${html.slice(0, 200)}: ${failureSummary.slice(0, 300)}`,
      ),
    );
};
