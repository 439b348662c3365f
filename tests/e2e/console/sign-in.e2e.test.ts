import { choosePorts } from '@holdpoint/infra/local/ports';
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

// Signing in with an OIDC provider: a real browser, the page, the service, and a provider with known
// users.

const chromium = findChromium(process.env);
if (chromium === undefined)
  process.stderr.write(
    'console: no sign-in is tried, because there is no chromium (or HOLDPOINT_CHROMIUM)\n',
  );

describe.skipIf(chromium === undefined)('signing in with a provider', () => {
  let system: System;
  let provider: OidcProvider;
  let browser: Browser;
  let url: string;
  /** Restarts the service without its cached provider keys. */
  let restart: (changed?: Readonly<Record<string, string>>) => Promise<void>;
  const visitors: Visitor[] = [];

  beforeAll(async () => {
    await buildPage();
    provider = await startOidcProvider();
    system = await createSystem();
    // The service starts again there: no other program may have taken the port meanwhile.
    const { approvals: port } = await choosePorts();
    const env = {
      HOLDPOINT_HTTP_PORT: String(port),
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
    let running = await system.start('approvals', env);
    url = `http://127.0.0.1:${String(port)}/`;
    browser = await startChromium(chromium ?? '');
    restart = async (changed) => {
      await running.stop();
      running = await system.start('approvals', { ...env, ...changed });
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
    // The content security policy holds: the page tried nothing that it forbids.
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

  test('a user returns to the page that they left, signed in as themselves, with no code in the address', async () => {
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
    // After a reload the user is still signed in, and the code is not sent again.
    const redeemed = provider.asked.get('/token');
    await page.reload();
    await page.getByText('oidc:eve').waitFor();
    expect(provider.asked.get('/token')).toBe(redeemed);
  });

  test('a user who cancels at the provider is notified, and may use a token', async () => {
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

  test('a sign-in link from another person signs in no user', async () => {
    const { page } = await open();
    await toLogin(page);
    const redeemed = provider.asked.get('/token');
    const visitor = await open('?code=of-somebody-else&state=of-somebody-else#/tasks');
    await visitor.page.getByText('This tab did not start the sign-in').waitFor();
    expect(visitor.page.url()).toBe(`${url}#/tasks`);
    // It fails also in a tab with a sign-in of its own under way.
    await page.goto(`${url}?code=of-somebody-else&state=of-somebody-else`);
    await page.getByText('This tab did not start the sign-in').waitFor();
    expect(provider.asked.get('/token')).toBe(redeemed);
    expect(page.url()).toBe(url);
  });

  test('two tabs sign in separately', async () => {
    const [one, other] = [await open('#/tasks'), await open('#/health')];
    await toLogin(one.page);
    await toLogin(other.page);
    await logIn(one.page, 'eve');
    await logIn(other.page, 'mallory');
    await one.page.getByText('oidc:eve').waitFor();
    await other.page.getByText('oidc:mallory').waitFor();
    expect([one.page.url(), other.page.url()]).toEqual([`${url}#/tasks`, `${url}#/health`]);
  });

  test('a sign-in that the provider does not confirm is refused with the reason', async () => {
    provider.state.idToken = { nonce: 'of-another-sign-in' };
    const { page } = await open();
    await toLogin(page);
    await logIn(page);
    await page.getByText('Sign-in failed: the OIDC provider rejected this sign-in').waitFor();
    expect(page.url()).toBe(url);
    expect(await stored(page)).toEqual([]);
  });

  test('a sign-in during an outage of the provider is refused with the reason, and works after it', async () => {
    Object.assign(provider.state, { fate: 'away', where: 'well-known' });
    await restart();
    const { page } = await open();
    await page.getByRole('button', { name: 'Sign in with Example Login' }).click();
    await page.getByText('The login of Example Login cannot be reached.').waitFor();
    mend(provider);
    await untilTrue('the service has loaded the provider', async () =>
      (await (await fetch(`${url}console/sign-in`)).text()).includes('authorizationEndpoint'),
    );
    await toLogin(page);
    await logIn(page);
    await page.getByText('oidc:eve').waitFor();
    expect(page.url()).toBe(url);
  });

  test('after the token expires, the user signs in again and returns to the same page', async () => {
    const { page } = await open('#/health');
    await toLogin(page);
    await logIn(page);
    await page.getByText('oidc:eve').waitFor();
    // This test expires the token itself instead of waiting.
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
