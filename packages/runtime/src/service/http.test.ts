import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { afterEach, describe, expect, test } from 'vitest';
import { type Check, type HttpServer, serveHttp } from './http.ts';
import { createMeter } from '../observability/meter.ts';

const servers: HttpServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
});

const serve = async (
  checks: readonly Check[] = [],
  figures = createMeter('test').exposition,
): Promise<(path: string) => Promise<Response>> => {
  const server = await serveHttp({ host: '127.0.0.1', port: 0 }, checks, figures);
  servers.push(server);
  return (path) => fetch(`http://127.0.0.1:${String(server.port)}${path}`);
};

const check = (name: string, ready: () => Promise<boolean>): Check => ({ name, ready });

describe('health', () => {
  test('/healthz answers as long as the process runs', async () => {
    const get = await serve([check('postgres', () => Promise.resolve(false))]);
    const response = await get('/healthz');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: 'ok' });
  });
});

describe('readiness', () => {
  test('/readyz passes when every check passes', async () => {
    const get = await serve([
      check('postgres', () => Promise.resolve(true)),
      check('nats', () => Promise.resolve(true)),
    ]);
    const response = await get('/readyz');
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ ready: true, checks: { postgres: true, nats: true } });
  });

  test.each([
    ['says no', () => Promise.resolve(false)],
    ['fails', () => Promise.reject(new Error('connection refused to sesame'))],
    [
      'fails at once',
      () => {
        throw new Error('sesame');
      },
    ],
  ])('/readyz names a check that %s, and no details', async (_, ready) => {
    const get = await serve([check('postgres', ready), check('nats', () => Promise.resolve(true))]);
    const response = await get('/readyz');
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ ready: false, checks: { postgres: false, nats: true } });
  });
});

describe('metrics', () => {
  test('/metrics has the format of Prometheus', async () => {
    const { counter, exposition } = createMeter('test');
    counter('holdpoint_things_total', 'Things')(3);
    const response = await (await serve([], exposition))('/metrics');
    expect(response.headers.get('content-type')).toMatch(/^text\/plain/);
    expect(await response.text()).toContain('holdpoint_things_total{service="test"} 3');
  });
});

test.each(['/', '/healthz/x', '/..', '/metrics.json'])('%s is not found', async (path) => {
  expect((await (await serve())(path)).status).toBe(404);
});

test.each([
  ['HOLDPOINT_HTTP_PORT', (port: number) => ({ port })],
  ['HOLDPOINT_METRICS_PORT', (metricsPort: number) => ({ port: 0, metricsPort })],
])('a port of %s in use is refused with the name of the setting', async (setting, listening) => {
  const holder = createServer();
  const port = await new Promise<number>((resolve) => {
    holder.listen(0, '127.0.0.1', () => resolve((holder.address() as { port: number }).port));
  });
  await expect(
    serveHttp({ host: '127.0.0.1', ...listening(port) }, [], createMeter('test').exposition),
  ).rejects.toThrow(
    `${setting}: cannot listen on 127.0.0.1:${String(port)} (EADDRINUSE): end the program that has this port, or set another`,
  );
  await new Promise((resolve) => holder.close(resolve));
});

test('a stop closes idle connections', async () => {
  const get = await serve();
  await (await get('/healthz')).text();
  await servers.splice(0)[0]?.stop();
  await expect(get('/healthz')).rejects.toThrow('fetch failed');
});

describe('a stop', () => {
  test.each([
    ['has said nothing', ''],
    ['has said half of what it wants', 'GET /healthz HTTP/1.1\r\nHost: x'],
    ['sends a body without end', 'POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nx'],
  ])('a stop does not wait for a caller that %s', async (_, said) => {
    const server = await serveHttp({ host: '127.0.0.1', port: 0 }, [], createMeter('test').exposition);
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    const heard = once(socket, 'close');
    socket.resume().write(said);
    // An answer to a later connection shows that the server has accepted this one.
    await (await fetch(`http://127.0.0.1:${String(server.port)}/healthz`)).text();
    await server.stop();
    await heard;
    expect(socket.destroyed).toBe(true);
  });
});

describe('a connection that is taken over for another protocol', () => {
  const takenOver = async (): Promise<{
    readonly ours: Duplex;
    readonly theirs: Socket;
    server: HttpServer;
  }> => {
    const taken: Duplex[] = [];
    const server = await serveHttp({ host: '127.0.0.1', port: 0 }, [], createMeter('test').exposition, {
      request: (_request, response) => response.end(),
      upgrade: (_request, socket) => {
        taken.push(socket);
        socket.write('taken');
      },
    });
    servers.push(server);
    const theirs = connect(server.port, '127.0.0.1');
    theirs.on('error', () => undefined);
    theirs.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n');
    await once(theirs, 'data');
    const [ours] = taken;
    if (ours === undefined) throw new Error('nobody has taken it over');
    return { ours, theirs, server };
  };

  test('an upgraded connection does not delay a stop', async () => {
    const { theirs, server } = await takenOver();
    const closed = once(theirs, 'close');
    await server.stop();
    await closed;
    expect(theirs.destroyed).toBe(true);
  });

  test('an upgraded connection may break before it has a listener', async () => {
    const { ours, server } = await takenOver();
    const closed = new Promise((resolve) => ours.once('close', resolve));
    ours.destroy(new Error('reset'));
    await closed;
    expect((await fetch(`http://127.0.0.1:${String(server.port)}/healthz`)).status).toBe(200);
  });
});

describe('failing metrics', () => {
  test('metrics that cannot be collected give status 500', async () => {
    const { gauge, exposition } = createMeter('test');
    gauge('broken', 'x', [], () => {
      throw new Error('out of order');
    });
    expect((await (await serve([], exposition))('/metrics')).status).toBe(500);
  });
});

test('with a port for metrics, the HTTP port serves none, and the other one nothing else', async () => {
  const { exposition } = createMeter('test');
  const server = await serveHttp({ host: '127.0.0.1', port: 0, metricsPort: 0 }, [], exposition, {
    request: (_, response) => void response.writeHead(418).end(),
  });
  servers.push(server);
  const statusOf = async (port: number | undefined, path: string): Promise<number> =>
    (await fetch(`http://127.0.0.1:${String(port)}${path}`)).status;
  expect(await statusOf(server.port, '/metrics')).toBe(418);
  expect(await statusOf(server.metricsPort, '/metrics')).toBe(200);
  expect(await statusOf(server.metricsPort, '/api')).toBe(404);
});
