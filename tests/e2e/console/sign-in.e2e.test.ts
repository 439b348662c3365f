import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import {
  buildPage,
  findChromium,
  seriousFindings,
  startChromium,
  type Visitor,
  visit,
} from '../../kit/console/browser.ts';
import { mend, type OidcProvider, startOidcProvider } from '../../kit/surfaces/oidc-provider.ts';
import { writePrincipals } from '../../kit/stack/principals.ts';
import { createSystem, type System } from '../../kit/stack/system.ts';
import { untilTrue } from '../../kit/until.ts';

// Signing in by the login of an OIDC provider, in a real browser: the page, the service, and somebody who knows people.

const chromium = findChromium(process.env);
if (chromium === undefined)
  process.stderr.write(
    'console: no sign-in is tried, because there is no chromium (or HOLDPOINT_CHROMIUM)\n',
  );

describe.skipIf(chromium === undefined)('whoever signs in by a login', () => {
  let system: System;
  let provider: OidcProvider;
  let browser: Browser;
  let url: string;
  /** The service, with nothing left of what it has kept of the provider. */
  let restart: (changed?: Readonly<Record<string, string>>) => Promise<void>;
  const visitors: Visitor[] = [];

  beforeAll(async () => {
    await buildPage();
    provider = await startOidcProvider();
    system = await createSystem();
    const env = {
      HOLDPOINT_PRINCIPALS_FILE: await writePrincipals(system.folder, [
        { name: 'operator', groups: ['operators'], token: system.client.token },
      ]),
      HOLDPOINT_OIDC_ISSUER: provider.issuer,
      HOLDPOINT_OIDC_AUDIENCE: provider.clientId,
      HOLDPOINT_OIDC_JWKS: provider.jwks,
      HOLDPOINT_OIDC_CLIENT_ID: provider.clientId,
      HOLDPOINT_OIDC_PROVIDER_NAME: 'Example Login',
    };
    await system.start('orchestrator');
    const first = await system.start('approvals', env);
    url = `http://127.0.0.1:${String(first.httpPort)}/`;
    browser = await startChromium(chromium ?? '');
    let running = first;
    restart = async (changed) => {
      await running.stop();
      const port = { HOLDPOINT_HTTP_PORT: String(first.httpPort) };
      running = await system.start('approvals', { ...env, ...port, ...changed });
    };
  });
  afterAll(async () => {
    await browser?.close();
    await system.stop();
    await provider.stop();
  });
  afterEach(async () => {
    mend(provider);
    const complaints = visitors.flatMap((visitor) => visitor.complaints);
    for (const { context } of visitors.splice(0)) await context.close();
    // The policy of the page holds: nothing that it forbids was tried.
    if (complaints.length > 0) throw new Error(`a browser complains: ${complaints.join('; ')}`);
  });

  const open = async (hash = ''): Promise<Visitor> => {
    const visitor = await visit(browser, url + hash);
    visitors.push(visitor);
    return visitor;
  };
  const toLogin = async (page: Page): Promise<void> => {
    await page.getByRole('button', { name: 'Sign in with Example Login' }).click();
    await page.getByRole('heading', { name: 'Example Login' }).waitFor();
  };
  const logIn = async (page: Page, user = 'eve'): Promise<void> => {
    await page.getByLabel('User name').fill(user);
    await page.getByRole('button', { name: 'Log in' }).click();
  };
  const pages = (page: Page) => page.getByRole('navigation', { name: 'Pages' });
  const stored = (page: Page) =>
    page.evaluate<readonly string[]>('Object.keys(sessionStorage).concat(Object.keys(localStorage))');

  test('comes back to where he was, as himself, and no code stays in the address', async () => {
    const { page } = await open('#/health');
    await page.getByRole('button', { name: 'Sign in with Example Login' }).waitFor();
    expect(await seriousFindings(page)).toEqual([]);
    await toLogin(page);
    expect(new URL(page.url()).searchParams.get('redirect_uri')).toBe(url);
    await logIn(page);
    await pages(page).waitFor();
    await page.getByText('oidc:eve').waitFor();
    await page.getByRole('heading', { level: 2, name: 'Health' }).waitFor();
    expect(page.url()).toBe(`${url}#/health`);
    expect(await stored(page)).toEqual(['holdpoint-token']);
    expect(await page.evaluate('document.cookie')).toBe('');
    // Reloaded, he is still signed in, and the code is not sent again.
    const redeemed = provider.asked.get('/token');
    await page.reload();
    await page.getByText('oidc:eve').waitFor();
    expect(provider.asked.get('/token')).toBe(redeemed);
  });

  test('and turns back there is told so, and may use a token', async () => {
    const { page } = await open('#/tasks');
    await toLogin(page);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByText('Example Login denied access, or you cancelled the login.').waitFor();
    expect(page.url()).toBe(`${url}#/tasks`);
    expect(await stored(page)).toEqual([]);
    await page.getByLabel('Your token').fill(system.client.token);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    await page.locator('nav a[aria-current=page]').getByText('Tasks').waitFor();
  });

  test('with a link that somebody else has sent is signed in as nobody', async () => {
    const { page } = await open();
    await toLogin(page);
    const redeemed = provider.asked.get('/token');
    const visitor = await open('?code=of-somebody-else&state=of-somebody-else#/tasks');
    await visitor.page.getByText('This tab did not start the sign-in').waitFor();
    expect(visitor.page.url()).toBe(`${url}#/tasks`);
    // Nor in the tab that has begun one.
    await page.goto(`${url}?code=of-somebody-else&state=of-somebody-else`);
    await page.getByText('This tab did not start the sign-in').waitFor();
    expect(provider.asked.get('/token')).toBe(redeemed);
    expect(page.url()).toBe(url);
  });

  test('in two tabs is signed in in each, for himself', async () => {
    const [one, other] = [await open('#/tasks'), await open('#/health')];
    await toLogin(one.page);
    await toLogin(other.page);
    await logIn(one.page, 'eve');
    await logIn(other.page, 'mallory');
    await one.page.getByText('oidc:eve').waitFor();
    await other.page.getByText('oidc:mallory').waitFor();
    expect([one.page.url(), other.page.url()]).toEqual([`${url}#/tasks`, `${url}#/health`]);
  });

  test('and whose sign-in the provider does not vouch for is told so', async () => {
    provider.state.idToken = { nonce: 'of-another-sign-in' };
    const { page } = await open();
    await toLogin(page);
    await logIn(page);
    await page.getByText('Sign-in failed: the OIDC provider rejected this sign-in').waitFor();
    expect(page.url()).toBe(url);
    expect(await stored(page)).toEqual([]);
  });

  test('while the provider does not answer is told so, and gets in once it does', async () => {
    Object.assign(provider.state, { fate: 'away', where: 'well-known' });
    await restart();
    const { page } = await open();
    await page.getByRole('button', { name: 'Sign in with Example Login' }).click();
    await page.getByText('The login of Example Login cannot be reached.').waitFor();
    mend(provider);
    await untilTrue('the service has found it', async () =>
      (await (await fetch(`${url}console/sign-in`)).text()).includes('authorizationEndpoint'),
    );
    await toLogin(page);
    await logIn(page);
    await page.getByText('oidc:eve').waitFor();
    expect(page.url()).toBe(url);
  });

  test('has to sign in again when his token has ended, and goes on where he was', async () => {
    const { page } = await open('#/health');
    await toLogin(page);
    await logIn(page);
    await page.getByText('oidc:eve').waitFor();
    // As if its time were over: no test waits for that.
    await restart({ HOLDPOINT_OIDC_AUDIENCE: 'somebody-else' });
    await page.getByText('Your token expired').waitFor();
    expect(await stored(page)).toEqual([]);
    await restart();
    await toLogin(page);
    await logIn(page);
    await page.getByText('oidc:eve').waitFor();
    await page.getByRole('heading', { level: 2, name: 'Health' }).waitFor();
  });
});
