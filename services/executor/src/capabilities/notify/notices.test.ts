import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, test } from 'vitest';
import { contextFor } from '../../../testing/context.ts';
import { httpTarget, type Target } from '../../../testing/http-target.ts';
import { CleanFailure, type EffectContext, OutcomeUnknown } from '../../ports/capability.ts';
import { notices } from './notices.ts';

const NOW = Date.now();
const KEY = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

const running: Target[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((target) => target.stop()));
});
const start = async (status: number, headers: Record<string, string> = {}): Promise<Target> => {
  const target = await httpTarget((response) => void response.writeHead(status, headers).end('sesame'));
  running.push(target);
  return target;
};

type Given = {
  readonly secrets?: Readonly<Record<string, string>>;
  readonly allowed?: readonly string[];
  readonly context?: Partial<EffectContext>;
};

/** Sends a notice with the arguments as they would arrive. */
const send = (
  uses: string,
  args: Readonly<Record<string, unknown>>,
  { secrets = {}, allowed = [], context = {} }: Given,
) => {
  const found = notices({ targets: new Set(allowed) }, () => NOW).find((each) => each.uses === uses);
  if (found === undefined) throw new Error(`nothing is called ${uses}`);
  const fill = (text: string): string =>
    text.replaceAll(/\$\{secret:([^}]*)\}/g, (_, name: string) => secrets[name] ?? 'unknown');
  return found.run(found.input.parse(args), contextFor({ secrets: { fill }, ...context }));
};

type Way = (target: Target, given?: Given) => ReturnType<typeof send>;

const webhook: Way = ({ origin }, given = {}) =>
  send(
    'cap.notify.webhook',
    { url: `${origin}/in?a=b`, secrets: ['${secret:KEY}'], type: 'invoice.paid', data: { b: 1, a: 'ü' } },
    { allowed: [origin], secrets: { KEY }, ...given },
  );
/** The URL of an incoming webhook is its secret. */
const incoming =
  (uses: string, args: Readonly<Record<string, unknown>>): Way =>
  ({ origin }, given = {}) =>
    send(
      uses,
      { webhook: '${secret:URL}', origin, ...args },
      {
        allowed: [origin],
        secrets: { URL: `${origin}/hooks/1/sesame` },
        ...given,
      },
    );
const discord = incoming('cap.notify.discord', { content: 'done, @everyone' });
const slack = incoming('cap.notify.slack', { text: '<!channel> a & b > c' });
const WAYS = [
  ['webhook', webhook],
  ['discord', discord],
  ['slack', slack],
] as const;

const failureOf = (sent: Promise<unknown>): Promise<unknown> =>
  sent.then(
    (outputs) => outputs,
    (error: unknown) => error,
  );

describe.each(WAYS)('a notice by %s', (_, way) => {
  test.each([200, 201, 204])(
    'a response with %i means arrived, and only the status is kept',
    async (status) => {
      const outputs = await way(await start(status));
      expect(outputs).toMatchObject({ status });
      expect(JSON.stringify(outputs)).not.toContain('sesame');
    },
  );

  test.each([300, 302, 308, 400, 401, 403, 404, 405, 410, 413, 422])(
    'a response with %i means not arrived, and redirects are not followed',
    async (status) => {
      const other = await start(200);
      const target = await start(status, { location: `${other.origin}/` });
      const failure = await failureOf(way(target));
      expect(failure).toBeInstanceOf(CleanFailure);
      expect(failure).toMatchObject({ body: { code: 'EXECUTOR_TARGET_REFUSED', details: { status } } });
      expect(target.received).toHaveLength(1);
      expect(other.connections()).toBe(0);
    },
  );

  test.each([408, 409, 425, 429, 500, 502, 503, 504])('a response with %i is a doubt', async (status) => {
    const failure = await failureOf(way(await start(status)));
    expect(failure).toBeInstanceOf(OutcomeUnknown);
    expect((failure as Error).message).toContain(`answered ${String(status)}`);
  });

  test('a notice goes to listed origins only', async () => {
    const target = await start(200);
    const failure = await failureOf(way(target, { allowed: ['https://discord.com'] }));
    expect(failure).toMatchObject({ body: { code: 'EXECUTOR_TARGET_NOT_ALLOWED' } });
    expect(target.connections()).toBe(0);
  });

  test('no error of a notice shows a secret', async () => {
    const failures = await Promise.all([403, 500].map(async (status) => failureOf(way(await start(status)))));
    const closed = await start(200);
    await closed.stop();
    for (const failure of [...failures, await failureOf(way(closed))]) {
      expect(failure).toBeInstanceOf(Error);
      const told = JSON.stringify([failure, (failure as Error).message, String((failure as Error).cause)]);
      expect(told).not.toContain('sesame');
      expect(told).not.toContain(KEY);
    }
  });
});

describe('webhooks', () => {
  test('a webhook sends the signed event with the same id on every attempt', async () => {
    const target = await start(200);
    for (const epoch of [1, 3])
      expect(await webhook(target, { context: { effectId: 'e-7', epoch } })).toEqual({
        id: 'e-7',
        status: 200,
      });
    for (const { method, path, headers, body } of target.received) {
      expect([method, path, headers['webhook-id']]).toEqual(['POST', '/in?a=b', 'e-7']);
      expect(headers['content-type']).toBe('application/json');
      const signed = headers as Record<string, string>;
      expect(new Webhook(KEY).verify(body, signed)).toEqual({ type: 'invoice.paid', data: { a: 'ü', b: 1 } });
    }
    expect(target.received.map(({ body }) => body)).toEqual(Array(2).fill(target.received[0]?.body));
  });

  test('a webhook is signed with every secret during a rotation', async () => {
    const target = await start(200);
    const NEW = `whsec_${Buffer.alloc(24, 1).toString('base64')}`;
    const args = {
      url: target.origin,
      secrets: ['${secret:NEW}', '${secret:OLD}'],
      type: 'a',
      timestamp: '2026-01-02T03:04:05Z',
      data: null,
    };
    await send('cap.notify.webhook', args, { allowed: [target.origin], secrets: { NEW, OLD: KEY } });
    const [{ headers, body } = { headers: {}, body: '' }] = target.received;
    for (const secret of [NEW, KEY])
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toMatchObject({
        timestamp: '2026-01-02T03:04:05Z',
      });
  });

  test('a webhook with an invalid secret is not sent', async () => {
    const target = await start(200);
    const failure = await failureOf(webhook(target, { secrets: { KEY: 'sesame' } }));
    expect(failure).toMatchObject({ body: { code: 'EXECUTOR_SECRET_NOT_ALLOWED' } });
    expect(String(failure)).not.toContain('sesame');
    expect(target.connections()).toBe(0);
  });
});

test('a message to Discord mentions no user, and waits until it is stored', async () => {
  const target = await start(200);
  await discord(target);
  expect(target.received[0]?.path).toBe('/hooks/1/sesame?wait=true');
  expect(JSON.parse(target.received[0]?.body ?? '')).toEqual({
    content: 'done, @everyone',
    allowed_mentions: { parse: [] },
  });
});

test('a message to Slack is escaped, and mentions no user', async () => {
  const target = await start(200);
  await slack(target);
  expect(JSON.parse(target.received[0]?.body ?? '')).toEqual({ text: '&lt;!channel&gt; a &amp; b &gt; c' });
});

describe.each([
  ['discord', discord],
  ['slack', slack],
] as const)('a webhook URL of %s', (_, way) => {
  test.each([
    'sesame',
    'https://sesame.example/hooks/1',
    'http://ada:sesame@127.0.0.1/',
    'file:///sesame',
    '',
  ])('the webhook URL must lead to the approved origin, and is not shown: %j', async (url) => {
    const target = await start(200);
    const failure = await failureOf(way(target, { secrets: { URL: url } }));
    expect(failure).toMatchObject({ body: { code: 'EXECUTOR_SECRET_NOT_ALLOWED' } });
    expect(JSON.stringify(failure)).not.toContain('sesame');
    expect(target.connections()).toBe(0);
  });

  test('the webhook URL may end with a line end', async () => {
    const target = await start(200);
    expect(await way(target, { secrets: { URL: `${target.origin}/hooks\n` } })).toEqual({ status: 200 });
  });
});

test('the target of a notice is its origin', () => {
  const targets = notices({ targets: new Set() }, () => NOW).map((notice) => {
    const about = {
      secrets: ['${secret:A}'],
      type: 'a',
      data: 1,
      webhook: '${secret:A}',
      content: 'a',
      text: 'a',
    };
    return [notice.uses, notice.target?.(notice.input.parse({ url: 'https://in.example/sesame', ...about }))];
  });
  expect(targets).toEqual([
    ['cap.notify.webhook', 'https://in.example'],
    ['cap.notify.discord', 'https://discord.com'],
    ['cap.notify.slack', 'https://hooks.slack.com'],
  ]);
});
