import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { root } from '@holdpoint/infra/local/folders';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** The paths of Linux distributions; a setting names another. */
const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser of this machine; undefined without one. */
export const findChromium = (env: NodeJS.ProcessEnv): string | undefined =>
  [env['HOLDPOINT_CHROMIUM'] ?? '', ...PLACES].find((path) => path !== '' && existsSync(path));

/** Disables network requests of the browser, and lets it run in a container. */
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

/** Builds the page if it is missing or outdated, for a test that runs alone. */
export const buildPage = async (): Promise<void> => {
  await promisify(execFile)(process.execPath, [join(root, 'packages/console/build.mjs')]);
};

export const startChromium = (executablePath: string): Promise<Browser> =>
  chromium.launch({ executablePath, args: ARGS, timeout: 60_000 });

type ContextOptions = NonNullable<Parameters<Browser['newContext']>[0]>;

/** A person with a browser, and the complaints of that browser: script errors and violations of the policy. */
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
    // Network errors are expected when a test stops a service.
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

/** The accessibility problems that axe finds on a page, with their places. */
export const seriousFindings = async (page: Page): Promise<readonly string[]> => {
  const source = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
  // The debugger evaluates it, so the policy of the page stays in force.
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
