import type { Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { errorBody } from '@holdpoint/contracts/values/errors';
import { contextFor } from '../../../testing/context.ts';
import { httpsTarget, httpTarget, rawTarget, type Target } from '../../../testing/http-target.ts';
import { selfSigned } from '../../../testing/self-signed.ts';
import { CleanFailure, type EffectContext, OutcomeUnknown } from '../../ports/capability.ts';
import { httpRequests } from './http-request.ts';
import type { HttpLimits } from './send-request.ts';

const running: Target[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((target) => target.stop()));
});
/** Stopped at the end of the test. */
const started = async (starting: Promise<Target>): Promise<Target> => {
  const target = await starting;
  running.push(target);
  return target;
};
const start = (respond: Parameters<typeof httpTarget>[0]): Promise<Target> => started(httpTarget(respond));
const startRaw = (talk: Parameters<typeof rawTarget>[0]): Promise<Target> => started(rawTarget(talk));

type Sending = {
  readonly uses?: string;
  readonly allowed?: readonly string[];
  readonly anyPublic?: boolean;
  readonly context?: Partial<EffectContext>;
  readonly limits?: HttpLimits;
};

/** Sends a request with the arguments as they would arrive. */
const send = async (
  args: { readonly url: string; readonly [name: string]: unknown },
  {
    uses = 'cap.http.request',
    allowed = [new URL(args.url).origin],
    anyPublic = false,
    context = {},
    limits = {},
  }: Sending = {},
) => {
  const listed = (label: string): ReadonlySet<string> => new Set(label === uses ? allowed : []);
  const lists = {
    targets: listed('cap.http.request'),
    keyedTargets: listed('cap.http.keyed_request'),
    idempotentTargets: listed('cap.http.idempotent_request'),
    anyPublic,
  };
  const found = httpRequests(lists, limits).find((capability) => capability.uses === uses);
  if (found === undefined) throw new Error(`nothing is called ${uses}`);
  return found.run(found.input.parse(args), contextFor(context));
};

const failureOf = async (sent: Promise<unknown>): Promise<unknown> => {
  const result = await sent.then(
    (outputs) => ({ outputs }),
    (error: unknown) => ({ error }),
  );
  return 'error' in result ? result.error : result;
};
const expectClean = async (sent: Promise<unknown>, code: string): Promise<CleanFailure> => {
  const failure = await failureOf(sent);
  expect(failure).toBeInstanceOf(CleanFailure);
  expect((failure as CleanFailure).body.code).toBe(code);
  return failure as CleanFailure;
};
const expectDoubt = async (sent: Promise<unknown>, reason: RegExp): Promise<void> => {
  const failure = await failureOf(sent);
  expect(failure).toBeInstanceOf(OutcomeUnknown);
  expect((failure as OutcomeUnknown).message).toMatch(reason);
};

const ok =
  (text = 'done') =>
  (response: { end: (text: string) => unknown }) =>
    void response.end(text);

describe('a sent request', () => {
  test('the approved request is sent with the same key on every attempt and its epoch', async () => {
    const target = await start(ok());
    const args = {
      method: 'PUT',
      url: `${target.origin}/a/b?c=%20d`,
      headers: { 'X-Reason': 'why' },
      body: { b: 1, a: [null] },
    };
    for (const epoch of [1, 4])
      await send(args, { uses: 'cap.http.keyed_request', context: { effectId: 'e-7', epoch } });
    expect(target.received).toMatchObject([
      { headers: { 'holdpoint-epoch': '1' } },
      { headers: { 'holdpoint-epoch': '4' } },
    ]);
    for (const received of target.received) {
      expect(received).toMatchObject({
        method: 'PUT',
        path: '/a/b?c=%20d',
        body: '{"a":[null],"b":1}',
        headers: {
          host: new URL(target.origin).host,
          'content-type': 'application/json',
          'content-length': '18',
          'x-reason': 'why',
          'idempotency-key': 'e-7',
          'holdpoint-effect': 'e-7',
        },
      });
    }
  });

  test('a target without keys gets no key', async () => {
    const target = await start(ok());
    await send({ url: target.origin });
    expect(target.received[0]?.headers).toMatchObject({ 'holdpoint-effect': 'e-1', 'content-length': '0' });
    expect(target.received[0]?.headers).not.toHaveProperty('idempotency-key');
  });

  test.each([
    ['text', 'grüß dich', 'text/plain; charset=utf-8', 'grüß dich'],
    ['JSON', { a: 'ü' }, 'application/json', '{"a":"ü"}'],
    ['null', null, 'application/json', 'null'],
    ['nothing', undefined, undefined, ''],
  ])('a request may be %s', async (_, body, type, text) => {
    const target = await start(ok());
    await send({ url: target.origin, ...(body !== undefined && { body }) });
    expect(target.received).toMatchObject([{ method: 'POST', body: text }]);
    expect(target.received[0]?.headers['content-type']).toBe(type);
  });

  test('a request may state its own content type', async () => {
    const target = await start(ok());
    await send({ url: target.origin, body: 'a;b', headers: { 'Content-Type': 'text/csv' } });
    expect(target.received[0]?.headers['content-type']).toBe('text/csv');
  });

  test('each request uses a new connection', async () => {
    const target = await start((response) => void response.setHeader('connection', 'keep-alive').end());
    await send({ url: target.origin });
    await send({ url: target.origin });
    expect(target.connections()).toBe(2);
  });
});

describe('an applied request', () => {
  test.each([200, 201, 202, 204, 299])('a response with %i is applied', async (status) => {
    const { origin } = await start(
      (response) => void response.writeHead(status, { 'x-secret': 'sesame' }).end(),
    );
    expect(await send({ url: origin })).toEqual({ status, body: '', truncated: false });
  });

  test('the response is kept as text without NUL', async () => {
    const { origin } = await start((response) => void response.end(Buffer.from([0x61, 0, 0xff, 0xc3, 0xbc])));
    expect(await send({ url: origin })).toEqual({ status: 200, body: 'a\uFFFD\uFFFDü', truncated: false });
  });

  test('the start of a long response is kept', async () => {
    const { origin } = await start((response) => void response.end('x'.repeat(20_000)));
    expect(await send({ url: origin })).toEqual({ status: 200, body: 'x'.repeat(16_384), truncated: true });
  });

  test('an endless response is not read', async () => {
    const { origin } = await start((response) => {
      const more = (): void => {
        while (response.writable && response.write(Buffer.alloc(65_536, 'x')));
        response.once('drain', more);
      };
      more();
    });
    expect(await send({ url: origin })).toMatchObject({ status: 200, truncated: true });
  });
});

describe('clean failures of a request', () => {
  test.each([400, 401, 403, 404, 412, 422])(
    'a response with %i is a clean failure, and its body is dropped',
    async (status) => {
      const { origin } = await start((response) => void response.writeHead(status).end('sesame'));
      const { body } = await expectClean(send({ url: origin }), 'EXECUTOR_TARGET_REFUSED');
      expect(body).toEqual(
        errorBody('EXECUTOR_TARGET_REFUSED', `the target answered ${String(status)}`, { status }),
      );
    },
  );

  test('a refused connection is a clean failure', async () => {
    const target = await start(ok());
    await target.stop();
    const { body } = await expectClean(send({ url: target.origin }), 'EXECUTOR_TARGET_UNAVAILABLE');
    expect(body.message).toContain('ECONNREFUSED');
  });

  test('an unknown name is a clean failure', async () => {
    await expectClean(send({ url: 'http://nobody.invalid/' }), 'EXECUTOR_TARGET_UNAVAILABLE');
  });

  test('an unfinished handshake is a clean failure', async () => {
    const { origin } = await startRaw(() => undefined);
    const url = origin.replace('http:', 'https:');
    const { body } = await expectClean(
      send({ url }, { limits: { connectTimeoutMs: 50 } }),
      'EXECUTOR_TARGET_UNAVAILABLE',
    );
    expect(body.message).toContain('timed out after 50 ms');
  });

  test('TLS to a target without TLS is a clean failure', async () => {
    const target = await start(ok());
    await expectClean(send({ url: target.origin.replace('http:', 'https:') }), 'EXECUTOR_TARGET_UNAVAILABLE');
    expect(target.received).toEqual([]);
  });

  test('an untrusted certificate is a clean failure', async () => {
    const target = await started(httpsTarget(ok()));
    const { body } = await expectClean(send({ url: target.origin }), 'EXECUTOR_TARGET_UNAVAILABLE');
    expect(body.message).toContain('DEPTH_ZERO_SELF_SIGNED_CERT');
    expect(target.received).toEqual([]);
  });

  test('a certificate of another name is a clean failure', async () => {
    const target = await started(httpsTarget(ok(), '127.0.0.1'));
    const trusting = { limits: { ca: selfSigned.cert } };
    await expectClean(send({ url: target.origin }, trusting), 'EXECUTOR_TARGET_UNAVAILABLE');
    expect(target.received).toEqual([]);
  });

  test.each([
    ['not listed', 'http://127.0.0.1:9/'],
    ['another port', 'http://allowed.example:81/'],
    ['another scheme', 'https://allowed.example/'],
    ['a part of the name', 'http://allowed.example.evil.example/'],
  ])('an origin that is not allowed is a clean failure: %s', async (_, url) => {
    const sent = send({ url }, { allowed: ['http://allowed.example'] });
    await expectClean(sent, 'EXECUTOR_TARGET_NOT_ALLOWED');
  });

  test('an origin that is allowed for another label is a clean failure', async () => {
    const target = await start(ok());
    const lists = { keyedTargets: new Set<string>(), idempotentTargets: new Set<string>(), anyPublic: true };
    const others = httpRequests({ targets: new Set([target.origin]), ...lists }).slice(1);
    expect(others.map(({ uses }) => uses)).toEqual(['cap.http.keyed_request', 'cap.http.idempotent_request']);
    for (const other of others)
      await expectClean(
        other.run({ method: 'PUT', url: target.origin }, contextFor()),
        'EXECUTOR_TARGET_NOT_ALLOWED',
      );
    expect(target.connections()).toBe(0);
  });

  test('an expired lease after connecting is a clean failure', async () => {
    const target = await start(ok());
    const late = new CleanFailure(
      errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'the lease was over before it began'),
    );
    const asked: number[] = [];
    const assertInForce = (): void => {
      asked.push(target.received.length);
      throw late;
    };
    expect(await failureOf(send({ url: target.origin }, { context: { assertInForce } }))).toBe(late);
    expect(asked).toEqual([0]);
    expect(target.received).toEqual([]);
  });

  test('a cancellation before the start is a clean failure', async () => {
    const target = await start(ok());
    await expectClean(
      send({ url: target.origin }, { context: { signal: AbortSignal.abort() } }),
      'EXECUTOR_CANCELLED',
    );
    expect(target.connections()).toBe(0);
  });

  test('a cancellation before the connection is a clean failure', async () => {
    const cancel = new AbortController();
    const { origin } = await startRaw(() => cancel.abort());
    const url = origin.replace('http:', 'https:');
    await expectClean(send({ url }, { context: { signal: cancel.signal } }), 'EXECUTOR_CANCELLED');
  });
});

describe('unknown outcomes of a request', () => {
  test.each([
    300, 301, 302, 303, 307, 308, 402, 405, 408, 409, 413, 418, 425, 429, 500, 501, 502, 503, 504, 599,
  ])('a status %i is a doubt, and is not retried', async (status) => {
    const target = await start(
      (response) => void response.writeHead(status, { location: '/elsewhere' }).end('sesame'),
    );
    await expectDoubt(
      send({ url: target.origin }),
      new RegExp(`^the target answered ${String(status)}, which`),
    );
    expect(target.received).toHaveLength(1);
  });

  const answersWith = (text: string) => (socket: Socket) => void socket.once('data', () => socket.end(text));
  const resets = (socket: Socket) => void socket.once('data', () => socket.resetAndDestroy());

  test.each<readonly [string, (socket: Socket) => void, RegExp]>([
    ['a connection reset after the request was read', resets, /ECONNRESET/],
    ['a connection that ends without a response', answersWith(''), /ECONNRESET/],
    ['garbage', answersWith('SSH-2.0-OpenSSH\r\n\r\n'), /HPE_/],
    ['a response of another protocol', answersWith('HTTP/1.1 two hundred\r\n\r\n'), /HPE_/],
    ['half of a head', answersWith('HTTP/1.1 200 OK\r\nContent-Le'), /ECONNRESET/],
    ['half of a body', answersWith('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf'), /ECONNRESET/],
    [
      'half of a body in chunks',
      answersWith('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhal'),
      /ECONNRESET/,
    ],
    [
      'half of a refusal',
      answersWith('HTTP/1.1 404 Not Found\r\nContent-Length: 10\r\n\r\nhalf'),
      /ECONNRESET/,
    ],
    [
      'two lengths',
      answersWith('HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok'),
      /HPE_/,
    ],
    [
      'a head without end',
      answersWith(`HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(20_000)}\r\n\r\n`),
      /HPE_HEADER_OVERFLOW/,
    ],
    [
      'a protocol upgrade',
      answersWith('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
      /sent, but no complete response/,
    ],
  ])('%s is a doubt', async (_, talk, reason) => {
    const target = await startRaw(talk);
    await expectDoubt(send({ url: target.origin, body: 'x' }), reason);
    // No hidden retry.
    expect(target.connections()).toBe(1);
  });

  test('a reset connection is a doubt', async () => {
    const target = await startRaw((socket) => void socket.once('readable', () => socket.resetAndDestroy()));
    await expectDoubt(send({ url: target.origin, body: 'x'.repeat(5_000_000) }), /ECONNRESET|EPIPE/);
    expect(target.connections()).toBe(1);
  });

  test('a missing response is a doubt', async () => {
    const target = await start(() => undefined);
    await expectDoubt(send({ url: target.origin }, { limits: { timeoutMs: 100 } }), /timed out/);
    expect(target.received).toHaveLength(1);
  });

  test('an endless slow response is a doubt', async () => {
    const { origin } = await startRaw((socket) => {
      const drip = setInterval(() => socket.write('HTTP/1.1 102 Processing\r\n\r\n'), 5);
      socket.once('close', () => clearInterval(drip));
    });
    await expectDoubt(send({ url: origin }, { limits: { timeoutMs: 150 } }), /timed out/);
  });

  test('a cancellation after sending is a doubt', async () => {
    const cancel = new AbortController();
    const target = await start(() => cancel.abort());
    await expectDoubt(
      send({ url: target.origin }, { context: { signal: cancel.signal } }),
      /it was cancelled/,
    );
  });
});

test('a target with a trusted certificate is reached', async () => {
  const target = await started(httpsTarget(ok()));
  const trusting = { limits: { ca: selfSigned.cert } };
  expect(await send({ url: `${target.origin}/x`, body: 'y' }, trusting)).toMatchObject({
    status: 200,
    body: 'done',
  });
  expect(target.received).toMatchObject([{ path: '/x', body: 'y' }]);
});

test('no error shows the request or the response', async () => {
  const { origin } = await start(
    (response) => void response.writeHead(500, { 'x-a': 'sesame' }).end('sesame'),
  );
  const refusing = await start((response) => void response.writeHead(403).end('sesame'));
  const closed = await start(ok());
  await closed.stop();
  for (const at of [origin, refusing.origin, closed.origin]) {
    const secret = { url: `${at}/sesame?token=sesame`, headers: { 'x-b': 'sesame' }, body: 'sesame' };
    const failure = await failureOf(send(secret));
    expect(failure).toBeInstanceOf(Error);
    expect(
      JSON.stringify([failure, (failure as Error).message, String((failure as Error).cause)]),
    ).not.toContain('sesame');
  }
});

describe('an idempotent request', () => {
  const idempotent = { uses: 'cap.http.idempotent_request' };

  test.each(['GET', 'HEAD', 'PUT', 'DELETE'])(
    'an idempotent request may be %s, and has no key',
    async (method) => {
      const target = await start(ok());
      const outputs = await send({ method, url: target.origin }, idempotent);
      expect(outputs).toMatchObject({ status: 200, body: method === 'HEAD' ? '' : 'done' });
      expect(target.received).toMatchObject([{ method, headers: { 'holdpoint-effect': 'e-1' } }]);
      expect(target.received[0]?.headers).not.toHaveProperty('idempotency-key');
    },
  );

  test.each(['POST', 'PATCH', undefined])('an idempotent request may not be %s', async (method) => {
    await expect(send({ method, url: 'http://127.0.0.1:9/' }, idempotent)).rejects.toThrow(/method/);
  });

  test('an idempotent request leaves the same doubt as any other', async () => {
    const { origin } = await start((response) => void response.writeHead(503).end());
    await expectDoubt(send({ method: 'PUT', url: origin }, idempotent), /answered 503/);
  });
});

describe('the expected response', () => {
  test('only the expected statuses count as applied', async () => {
    const { origin } = await start(
      (response, { url = '' }) => void response.writeHead(Number(url.slice(1))).end(),
    );
    const asked = (status: number, expected: readonly number[]) =>
      send({ method: 'DELETE', url: `${origin}/${String(status)}`, expect: expected });
    expect(await asked(404, [204, 404])).toMatchObject({ status: 404 });
    await expectDoubt(asked(200, [204, 404]), /answered 200/);
    await expectClean(asked(403, [204, 404]), 'EXECUTOR_TARGET_REFUSED');
  });

  test('only the named response headers are kept', async () => {
    const { origin } = await start((response) => {
      response.setHeader('ETag', '"7"').setHeader('X-Many', ['a', 'b']).setHeader('X-Secret', 'sesame').end();
    });
    expect(await send({ url: origin, keepHeaders: ['etag', 'X-Many', 'Absent'] })).toEqual({
      status: 200,
      headers: { etag: '"7"', 'x-many': 'a, b' },
      body: '',
      truncated: false,
    });
  });
});

/** Fills in secrets as an executor would, and notes what for. */
const secretsFor = (known: Readonly<Record<string, string>>) => {
  const uses: string[] = [];
  const fill = (text: string, use: string): string => {
    if (text.includes('${secret:')) uses.push(use);
    return text.replaceAll(/\$\{secret:([^}]*)\}/g, (_, name: string) => known[name] ?? 'unknown');
  };
  return { uses, secrets: { fill } };
};

describe('secrets in requests', () => {
  test('secrets are filled into headers and bodies for their origin', async () => {
    const target = await start(ok());
    const { uses, secrets } = secretsFor({ TOKEN: 'sesame', QUOTED: 'a"b' });
    const headers = { Authorization: 'Bearer ${secret:TOKEN}', 'X-Plain': 'plain' };
    const body = { token: '${secret:QUOTED}', list: ['${secret:TOKEN}', 1, null], '${secret:TOKEN}': true };
    await send({ url: `${target.origin}/x`, headers, body }, { context: { secrets } });
    expect(target.received[0]?.headers).toMatchObject({ authorization: 'Bearer sesame', 'x-plain': 'plain' });
    expect(JSON.parse(target.received[0]?.body ?? '')).toEqual({
      token: 'a"b',
      list: ['sesame', 1, null],
      '${secret:TOKEN}': true,
    });
    expect(new Set(uses)).toEqual(new Set([target.origin]));
  });

  test('secrets are not resolved for an origin that is not allowed', async () => {
    const { uses, secrets } = secretsFor({ TOKEN: 'sesame' });
    const args = { url: 'http://127.0.0.1:9/', body: '${secret:TOKEN}' };
    await expectClean(send(args, { allowed: [], context: { secrets } }), 'EXECUTOR_TARGET_NOT_ALLOWED');
    expect(uses).toEqual([]);
  });

  test('a secret that no header can contain ends the request, and is not shown', async () => {
    const target = await start(ok());
    const { secrets } = secretsFor({ TOKEN: 'sesame\r\nx-b: c' });
    const args = { url: target.origin, headers: { authorization: '${secret:TOKEN}' } };
    const { body } = await expectClean(send(args, { context: { secrets } }), 'EXECUTOR_SECRET_NOT_ALLOWED');
    expect(JSON.stringify(body)).not.toContain('sesame');
    expect(target.connections()).toBe(0);
  });
});

describe('redirects', () => {
  const redirecting = (location: string, status = 302) =>
    start((response) => void response.writeHead(status, { location }).end('moved'));

  test.each([301, 302, 303, 307, 308])(
    'a redirect with %i is followed as often as the request allows',
    async (status) => {
      const last = await start(ok('there'));
      const second = await redirecting(`${last.origin}/last`, status);
      const first = await redirecting(`${second.origin}/second`, status);
      const allowed = [first, second, last].map(({ origin }) => origin);
      expect(await send({ method: 'GET', url: first.origin, redirects: 2 }, { allowed })).toMatchObject({
        status: 200,
        body: 'there',
      });
      await expectDoubt(send({ method: 'GET', url: first.origin, redirects: 1 }, { allowed }), /answered 30/);
      expect(last.received).toMatchObject([{ method: 'GET', path: '/last' }]);
    },
  );

  test('a redirect is relative to its request', async () => {
    const target = await start((response, { url }) => {
      if (url === '/a/b') response.writeHead(302, { location: '../c?d#e' });
      response.end();
    });
    const idempotent = { uses: 'cap.http.idempotent_request' };
    await send({ method: 'HEAD', url: `${target.origin}/a/b`, redirects: 1 }, idempotent);
    expect(target.received).toMatchObject([{ path: '/a/b' }, { method: 'HEAD', path: '/c?d' }]);
  });

  test.each(['POST', 'PUT', 'DELETE', 'PATCH'])('a redirect of %s is never followed', async (method) => {
    await expect(send({ method, url: 'http://127.0.0.1:9/', redirects: 1 })).rejects.toThrow(/redirects/);
  });

  test('a redirect to an origin that is not allowed is a clean failure', async () => {
    const other = await start(ok());
    const target = await redirecting(other.origin);
    const sent = send({ method: 'GET', url: target.origin, redirects: 5 });
    await expectClean(sent, 'EXECUTOR_TARGET_NOT_ALLOWED');
    expect(other.connections()).toBe(0);
  });

  test.each([
    'ftp://127.0.0.1/',
    'http://ada:sesame@127.0.0.1/',
    'http://[::1',
    'javascript:alert(1)',
    'file:///',
  ])('a redirect to %s is a clean failure', async (location) => {
    const { origin } = await redirecting(location);
    const { body } = await expectClean(
      send({ method: 'GET', url: origin, redirects: 1 }),
      'EXECUTOR_TARGET_REFUSED',
    );
    expect(body.message).not.toContain('sesame');
  });

  test('a redirect takes no credentials to another origin', async () => {
    const other = await start(ok());
    const target = await start((response, { url }) => {
      const location = url === '/' ? '/again' : `${other.origin}/`;
      response.writeHead(307, { location }).end();
    });
    const { secrets } = secretsFor({ TOKEN: 'sesame' });
    const headers = {
      Authorization: 'Bearer ${secret:TOKEN}',
      Cookie: 'a=${secret:TOKEN}',
      'X-Key': '${secret:TOKEN}',
      'X-Plain': 'plain',
    };
    const args = { method: 'GET', url: `${target.origin}/`, headers, redirects: 2 };
    await send(args, { allowed: [target.origin, other.origin], context: { secrets } });
    expect(target.received[1]?.headers).toMatchObject({ authorization: 'Bearer sesame', 'x-key': 'sesame' });
    expect(other.received[0]?.headers).toMatchObject({ 'x-plain': 'plain' });
    expect(JSON.stringify(other.received[0]?.headers)).not.toContain('sesame');
  });

  test('a redirect is not followed after the lease has expired', async () => {
    const last = await start(ok());
    const first = await redirecting(last.origin);
    const over = new CleanFailure(errorBody('EXECUTOR_TARGET_UNAVAILABLE', 'the lease is over'));
    let asked = 0;
    const assertInForce = (): void => {
      asked += 1;
      if (asked > 1) throw over;
    };
    const allowed = [first.origin, last.origin];
    const sent = send(
      { method: 'GET', url: first.origin, redirects: 1 },
      { allowed, context: { assertInForce } },
    );
    expect(await failureOf(sent)).toBe(over);
    expect(last.received).toEqual([]);
  });
});

describe('an unlisted public host', () => {
  /** A name that means something else each time that it is looked up. */
  const meaning = (...answers: readonly (readonly string[])[]) => {
    const asked: string[] = [];
    const resolve = (name: string) => {
      const found = answers[asked.length] ?? [];
      asked.push(name);
      return Promise.resolve(found.map((address) => ({ address, family: 4 })));
    };
    return { asked, resolve };
  };
  const open = { allowed: [], anyPublic: true };

  test.each([
    ['plain http', 'http://public.example/'],
    ['another port', 'https://public.example:8443/'],
    ['the port of http', 'https://public.example:80/'],
  ])('an unlisted host is not looked up by %s', async (_, url) => {
    const { asked, resolve } = meaning(['1.1.1.1']);
    await expectClean(send({ url }, { ...open, limits: { resolve } }), 'EXECUTOR_TARGET_NOT_ALLOWED');
    expect(asked).toEqual([]);
  });

  test.each(['cap.http.keyed_request', 'cap.http.idempotent_request'])(
    'an unlisted host is not reached by %s, because its guarantee is unknown',
    async (uses) => {
      const sent = send({ method: 'PUT', url: 'https://public.example/' }, { ...open, uses });
      await expectClean(sent, 'EXECUTOR_TARGET_NOT_ALLOWED');
    },
  );

  test('an unlisted host with a private address is refused', async () => {
    const { resolve } = meaning(['127.0.0.1']);
    const sent = send({ url: 'https://public.example/' }, { ...open, limits: { resolve } });
    await expectClean(sent, 'EXECUTOR_TARGET_NOT_ALLOWED');
  });

  test('a redirect to a private address is refused', async () => {
    const inside = await start(ok());
    const { port } = new URL(inside.origin);
    for (const location of [
      `https://127.0.0.1:${port}/`,
      'https://inside.example/',
      'https://169.254.169.254/',
    ]) {
      const target = await redirectingTo(location);
      const { resolve } = meaning(['10.0.0.1']);
      const sent = send(
        { method: 'GET', url: target.origin, redirects: 3 },
        { allowed: [target.origin], anyPublic: true, limits: { resolve } },
      );
      await expectClean(sent, 'EXECUTOR_TARGET_NOT_ALLOWED');
    }
    expect(inside.connections()).toBe(0);
  });
});

const redirectingTo = (location: string): Promise<Target> =>
  start((response) => void response.writeHead(302, { location }).end());

describe('names of targets', () => {
  test('a name is looked up once, and the request goes to that address', async () => {
    const target = await start(ok());
    const { port } = new URL(target.origin);
    const asked: string[] = [];
    const resolve = (name: string) => {
      asked.push(name);
      return Promise.resolve([{ address: asked.length === 1 ? '127.0.0.1' : '127.0.0.2', family: 4 }]);
    };
    await send({ url: `http://pinned.example:${port}/` }, { limits: { resolve } });
    expect(asked).toEqual(['pinned.example']);
    expect(target.received).toMatchObject([{ headers: { host: `pinned.example:${port}` } }]);
  });

  test('the certificate must match the name at every address', async () => {
    const target = await started(httpsTarget(ok()));
    const { port } = new URL(target.origin);
    const resolve = () => Promise.resolve([{ address: '127.0.0.1', family: 4 }]);
    const limits = { ca: selfSigned.cert, resolve };
    expect(await send({ url: `https://localhost:${port}/` }, { limits })).toMatchObject({ status: 200 });
    const { body } = await expectClean(
      send({ url: `https://other.example:${port}/` }, { limits }),
      'EXECUTOR_TARGET_UNAVAILABLE',
    );
    expect(body.message).toContain('ERR_TLS_CERT_ALTNAME_INVALID');
  });

  test('a name with several addresses is reached at one that answers', async () => {
    const target = await start(ok());
    const { port } = new URL(target.origin);
    const resolve = () =>
      Promise.resolve(['::1', '127.0.0.1'].map((address, at) => ({ address, family: at === 0 ? 6 : 4 })));
    expect(await send({ url: `http://both.example:${port}/` }, { limits: { resolve } })).toMatchObject({
      status: 200,
    });
  });
});

test('the target of a request is its origin', () => {
  const lists = {
    targets: new Set<string>(),
    keyedTargets: new Set<string>(),
    idempotentTargets: new Set<string>(),
  };
  for (const capability of httpRequests({ ...lists, anyPublic: false }))
    expect(
      capability.target?.(capability.input.parse({ method: 'PUT', url: 'https://API.example:443/a?b' })),
    ).toBe('https://api.example');
});
