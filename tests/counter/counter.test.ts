import { createHash } from 'node:crypto';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { applicationsByKey, fetchLedger, type LedgerRecord, readLedger, requestsByKey } from './ledger.ts';
import { DEFAULT_MIX, type Mode } from './modes.ts';
import { type Counter, type CounterOptions, startCounter } from './server.ts';

/** A limit for hanging tests. */
const PATIENCE = { timeout: 20_000 };

let folder: string;
const running: Counter[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdpoint-counter-'));
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((counter) => counter.stop()));
  await rm(folder, { recursive: true });
});

const ledgerFile = (): string => join(folder, 'ledger.ndjson');
const start = async (change: Partial<CounterOptions> = {}): Promise<Counter> => {
  const counter = await startCounter({
    file: ledgerFile(),
    host: '127.0.0.1',
    port: 0,
    seed: 'test',
    mode: 'normal',
    mix: DEFAULT_MIX,
    keyWindowMs: Infinity,
    slowMs: [1, 2],
    holdMs: [600_000, 600_000],
    ...change,
  });
  running.push(counter);
  return counter;
};
const stop = async (counter: Counter): Promise<void> => {
  running.splice(running.indexOf(counter), 1);
  await counter.stop();
};

type Answer = { readonly status: number; readonly body: string };
type Sending = {
  readonly key?: string;
  readonly effect?: string;
  readonly epoch?: number;
  readonly body?: string;
};

/** The answer, or undefined when it was missing or cut. */
const send = async (
  { origin }: Counter,
  path: string,
  { key, effect, epoch, body = 'hello' }: Sending = {},
): Promise<Answer | undefined> => {
  const headers = {
    ...(key !== undefined && { 'idempotency-key': key }),
    ...(effect !== undefined && { 'holdpoint-effect': effect }),
    ...(epoch !== undefined && { 'holdpoint-epoch': String(epoch) }),
  };
  try {
    const response = await fetch(`${origin}${path}`, { method: 'POST', headers, body });
    return { status: response.status, body: await response.text() };
  } catch {
    return undefined;
  }
};

const get = async ({ origin }: Counter, path: string): Promise<unknown> =>
  (await fetch(`${origin}${path}`)).json();
const control = (counter: Counter, body: unknown): Promise<Response> =>
  fetch(`${counter.origin}/control`, { method: 'POST', body: JSON.stringify(body) });

const countOf = (records: readonly LedgerRecord[], key: string): number =>
  applicationsByKey(records).get(key)?.length ?? 0;

describe('the ledger', () => {
  test('the ledger has every request with its outcome before the answer', async () => {
    const counter = await start();
    await send(counter, '/keyed/orders?x=1', { key: 'k', effect: 'e', epoch: 3, body: 'grüße' });
    const [opened, request, applied] = await readLedger(ledgerFile());
    const digest = createHash('sha256').update('grüße').digest('hex');
    const about = { n: 1, flavour: 'keyed', path: '/keyed/orders?x=1', key: 'k', epoch: 3, digest };
    expect(opened).toMatchObject({ type: 'opened', seed: 'test', mode: 'normal', mix: DEFAULT_MIX });
    expect(request).toMatchObject({
      type: 'request',
      ...about,
      method: 'POST',
      bytes: 7,
      arrival: 1,
      mode: 'normal',
    });
    expect(applied).toMatchObject({ type: 'applied', ...about });
    expect(BigInt(applied?.mono ?? 0)).toBeGreaterThanOrEqual(BigInt(request?.mono ?? 0));
  });

  test('the ledger can be fetched', async () => {
    const counter = await start();
    await Promise.all(['a', 'b', 'c'].map((key) => send(counter, '/opaque/x', { effect: key })));
    const fetched = await fetchLedger(counter.origin);
    expect(fetched).toEqual(await readLedger(ledgerFile()));
    expect([...applicationsByKey(fetched).keys()].toSorted()).toEqual(['a', 'b', 'c']);
  });

  test('the ledger counts its records', async () => {
    const counter = await start();
    await send(counter, '/keyed/x', { key: 'k' });
    await send(counter, '/keyed/x', { key: 'k' });
    expect(await get(counter, '/healthz')).toEqual({ status: 'ok', requests: 2, applications: 1, held: 0 });
  });
});

describe('a target', () => {
  test('a keyed target applies each key once and answers repeats alike', async () => {
    const counter = await start();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send(counter, '/keyed/x', { key: 'k' })),
    );
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
    expect(answers[0]?.status).toBe(200);
    const records = await readLedger(ledgerFile());
    expect(countOf(records, 'k')).toBe(1);
    expect(
      requestsByKey(records)
        .get('k')
        ?.map(({ arrival }) => arrival),
    ).toEqual(Array.from({ length: 20 }, (_, i) => i + 1));
  });

  test('a target without keys applies every request', async () => {
    const counter = await start();
    await send(counter, '/opaque/x', { effect: 'e' });
    await send(counter, '/opaque/x', { effect: 'e' });
    expect(countOf(await readLedger(ledgerFile()), 'e')).toBe(2);
  });

  test('a probe raises the fence of a fenced target and answers truly', async () => {
    const counter = await start();
    expect(await get(counter, '/fenced/x?key=e&epoch=4')).toEqual({ applied: false, fence: 4 });
    expect(await send(counter, '/fenced/x', { effect: 'e', epoch: 3 })).toMatchObject({ status: 412 });
    expect(await send(counter, '/fenced/x', { effect: 'e', epoch: 4 })).toMatchObject({ status: 200 });
    expect(await get(counter, '/fenced/x?key=e')).toEqual({ applied: true, fence: 4 });
    expect(countOf(await readLedger(ledgerFile()), 'e')).toBe(1);
  });

  test('a probeable target answers whether it applied', async () => {
    const counter = await start();
    expect(await get(counter, '/probeable/x?key=e')).toEqual({ applied: false });
    await send(counter, '/probeable/x', { effect: 'e' });
    expect(await get(counter, '/probeable/x?key=e')).toEqual({ applied: true });
  });

  test('an unknown target is not found', async () => {
    const counter = await start();
    expect(await send(counter, '/elsewhere/x')).toMatchObject({ status: 404 });
    expect(await send(counter, '/')).toMatchObject({ status: 404 });
  });
});

describe('a request that is', () => {
  test.each<readonly [Mode, number | undefined, number]>([
    ['normal', 200, 1],
    ['slow', 200, 1],
    ['apply_then_reset', undefined, 1],
    ['apply_then_500', 500, 1],
    ['apply_then_cut', undefined, 1],
    ['reset_before_reading', undefined, 0],
    ['refuse_503', 503, 0],
    ['hold', undefined, 0],
    ['lie_200', 200, 0],
    ['lie_404', 404, 1],
    ['forget', 200, 1],
  ])('%s is answered with %s and applied %i times', async (mode, status, times) => {
    const counter = await start({ mode });
    const answer = await send(counter, '/keyed/x', { key: 'k' });
    expect(answer?.status).toBe(status);
    expect(countOf(await readLedger(ledgerFile()), 'k')).toBe(times);
  });

  test('a request in apply_then_hang is applied and never answered', async () => {
    const counter = await start({ mode: 'apply_then_hang' });
    const answer = send(counter, '/keyed/x', { key: 'k' });
    await vi.waitFor(async () => expect(countOf(await readLedger(ledgerFile()), 'k')).toBe(1), PATIENCE);
    await stop(counter);
    expect(await answer).toBeUndefined();
  });

  test('a slow request is lost when the server stops first', async () => {
    const counter = await start({ mode: 'slow', slowMs: [600_000, 600_000] });
    const answer = send(counter, '/keyed/x', { key: 'k' });
    await vi.waitFor(
      async () => expect(requestsByKey(await readLedger(ledgerFile())).has('k')).toBe(true),
      PATIENCE,
    );
    await stop(counter);
    expect(await answer).toBeUndefined();
    expect(countOf(await readLedger(ledgerFile()), 'k')).toBe(0);
  });

  test('a request in forget is applied again', async () => {
    const counter = await start({ mode: 'forget' });
    await send(counter, '/keyed/x', { key: 'k' });
    await send(counter, '/keyed/x', { key: 'k' });
    expect(countOf(await readLedger(ledgerFile()), 'k')).toBe(2);
  });

  test('a held request arrives at its time, after later ones', async () => {
    const counter = await start({ mode: 'hold', holdMs: [50, 50] });
    await send(counter, '/keyed/x', { key: 'k' });
    await send(counter, '/opaque/x', { effect: 'e' });
    await control(counter, { mode: 'normal' });
    expect(await send(counter, '/keyed/x', { key: 'k' })).toMatchObject({ status: 200 });
    await vi.waitFor(async () => expect(await get(counter, '/control')).toMatchObject({ held: 0 }), PATIENCE);
    const records = await readLedger(ledgerFile());
    expect([countOf(records, 'k'), countOf(records, 'e')]).toEqual([1, 1]);
    // The later request found the key.
    expect(records.filter(({ type }) => type === 'repeated')).toHaveLength(1);
  });
});

describe('control', () => {
  test('the control endpoint shows and changes settings, and records the change', async () => {
    const counter = await start();
    expect(await get(counter, '/control')).toEqual({
      mode: 'normal',
      mix: DEFAULT_MIX,
      seed: 'test',
      held: 0,
    });
    const changed = await control(counter, { mode: 'mix', mix: { refuse_503: 1 } });
    expect(await changed.json()).toEqual({ mode: 'mix', mix: { refuse_503: 1 }, seed: 'test', held: 0 });
    expect(await send(counter, '/keyed/x', { key: 'k' })).toMatchObject({ status: 503 });
    expect(await readLedger(ledgerFile())).toContainEqual(
      expect.objectContaining({ type: 'control', mode: 'mix', mix: { refuse_503: 1 }, release: false }),
    );
  });

  test('a release applies every delayed request before its answer', async () => {
    const counter = await start({ mode: 'hold' });
    await Promise.all(['a', 'b'].map((effect) => send(counter, '/opaque/x', { effect })));
    const released = await control(counter, { release: true });
    expect(await released.json()).toMatchObject({ held: 0 });
    const records = await readLedger(ledgerFile());
    expect([countOf(records, 'a'), countOf(records, 'b')]).toEqual([1, 1]);
  });

  test.each(['nothing', { mode: 'sometimes' }, { mix: {} }, { mood: 'normal' }, { release: 1 }])(
    'refuses %j',
    async (body) => {
      const counter = await start();
      expect((await control(counter, body)).status).toBe(400);
    },
  );
});

describe('chance', () => {
  const fates = async (counter: Counter): Promise<readonly Mode[]> => {
    for (let i = 0; i < 40; i += 1) await send(counter, '/keyed/x', { key: `k-${String(i % 20)}` });
    const records = await readLedger(ledgerFile());
    return records.flatMap((record) => (record.type === 'request' ? [record.mode] : []));
  };
  const mix = { ...DEFAULT_MIX, normal: 5, apply_then_hang: 0 };

  test('the modes of requests follow from the seed', async () => {
    const runs: (readonly Mode[])[] = [];
    for (const seed of ['one', 'one', 'two']) {
      const counter = await start({ mode: 'mix', mix, seed });
      runs.push(await fates(counter));
      await stop(counter);
      await rm(ledgerFile());
    }
    expect(runs[0]).toHaveLength(40);
    expect(runs[1]).toEqual(runs[0]);
    expect(runs[2]).not.toEqual(runs[0]);
    expect(new Set(runs[0]).size).toBeGreaterThan(4);
  });
});

describe('a server that starts again', () => {
  test('a restarted server knows keys, fences, counts and numbers', async () => {
    const first = await start();
    const answered = await send(first, '/keyed/x', { key: 'k' });
    await get(first, '/fenced/x?key=e&epoch=4');
    await stop(first);
    const second = await start();
    expect(await send(second, '/keyed/x', { key: 'k' })).toEqual(answered);
    expect(await send(second, '/fenced/x', { effect: 'e', epoch: 3 })).toMatchObject({ status: 412 });
    const records = await readLedger(ledgerFile());
    expect(countOf(records, 'k')).toBe(1);
    expect(
      requestsByKey(records)
        .get('k')
        ?.map(({ n, arrival }) => [n, arrival]),
    ).toEqual([
      [1, 1],
      [3, 2],
    ]);
  });

  test('a restarted server applies delayed requests', async () => {
    const first = await start({ mode: 'hold' });
    await send(first, '/opaque/x', { effect: 'e' });
    await stop(first);
    const second = await start();
    expect(await get(second, '/control')).toMatchObject({ held: 1 });
    await control(second, { release: true });
    expect(countOf(await readLedger(ledgerFile()), 'e')).toBe(1);
  });

  test('a restarted server removes a line that a crash cut', async () => {
    const first = await start();
    await send(first, '/keyed/x', { key: 'k' });
    await stop(first);
    const whole = await readFile(ledgerFile(), 'utf8');
    await appendFile(ledgerFile(), '{"type":"applied","n":2,"key":"ghost');
    const second = await start();
    await send(second, '/keyed/x', { key: 'l' });
    const text = await readFile(ledgerFile(), 'utf8');
    expect(text.startsWith(whole)).toBe(true);
    expect(text).not.toContain('ghost');
    expect(countOf(await readLedger(ledgerFile()), 'l')).toBe(1);
  });

  test('a server refuses a file that is not a ledger', async () => {
    await appendFile(ledgerFile(), 'somebody else’s\n');
    await expect(start()).rejects.toThrow(SyntaxError);
  });
});
