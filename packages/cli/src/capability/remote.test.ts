import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { NOW, typeLine } from '../../testing/terminal.ts';

const definition = { name: 'refund', title: 'Refund ${cents} cents', input: { type: 'object' } };
const registered = {
  ...definition,
  kind: 'write_external',
  effectClass: 'keyed',
  probe: true,
  status: 'registered',
  registeredBy: 'ada',
  registeredAt: NOW,
};

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'capabilities-'));
});
afterEach(() => rm(folder, { recursive: true }));

const register = async (text: string | undefined) => {
  if (text !== undefined) await writeFile(join(folder, 'refund.json'), text);
  const answers = { 'approvals.capability_register': registered };
  return typeLine(['capability', 'register', 'refund.json'], answers, { directory: folder });
};

describe('capability register', () => {
  test('capability register sends the definition with its defaults', async () => {
    const { code, out, calls } = await register(JSON.stringify(definition));
    expect(code).toBe(0);
    expect(calls).toEqual([
      ['approvals.capability_register', { ...definition, kind: 'write_external', effectClass: 'opaque' }],
    ]);
    expect(out).toContain('label       cap.remote.refund');
    expect(out).toContain('registered  by ada, ');
  });

  test.each([
    ['a missing file', undefined, 'refund.json: cannot be read'],
    ['a file that is not JSON', '{', 'refund.json: not JSON'],
    [
      'a name that no label can have',
      JSON.stringify({ ...definition, name: 'Refund!' }),
      'refund.json: name: ',
    ],
  ])('capability register refuses %s', async (_, text, problem) => {
    const { code, err, calls } = await register(text);
    expect({ code, calls }).toEqual({ code: 2, calls: [] });
    expect(err).toContain(problem);
  });
});

test('capability withdraw names the person', async () => {
  const { out, calls } = await typeLine(['capability', 'withdraw', 'refund'], {
    'approvals.capability_withdraw': { ...registered, status: 'withdrawn', withdrawnBy: 'bob' },
  });
  expect(calls).toEqual([['approvals.capability_withdraw', { name: 'refund' }]]);
  expect(out).toBe('cap.remote.refund: withdrawn by bob\n');
});

describe('capability list', () => {
  test('capability list shows registered capabilities beside those of executors', async () => {
    const { out } = await typeLine(['capability', 'list'], {
      'executor.capabilities': { items: [] },
      'approvals.capability_list': {
        items: [registered, { ...registered, name: 'mail', status: 'withdrawn' }],
      },
    });
    expect(out).toMatch(/cap\.remote\.refund +keyed +write_external +remote effect +probe\n/);
    expect(out).toMatch(/cap\.remote\.mail +keyed +write_external +withdrawn +probe\n/);
  });

  test('capability list asks for every page', async () => {
    const asked: unknown[] = [];
    const { out } = await typeLine(['capability', 'list'], {
      'executor.capabilities': { items: [] },
      'approvals.capability_list': (page: { readonly after?: string }) => {
        asked.push(page);
        return page.after === undefined
          ? { items: [registered], next: 'refund' }
          : { items: [{ ...registered, name: 'zip' }] };
      },
    });
    expect(asked).toEqual([{ limit: 500 }, { limit: 500, after: 'refund' }]);
    expect(out).toMatch(/cap\.remote\.refund[^]*cap\.remote\.zip/);
  });

  test.each(['refund', 'cap.remote.refund'])('capability show %s shows its definition', async (label) => {
    const { out, calls } = await typeLine(['capability', 'show', label], {
      'approvals.capability_list': { items: [registered] },
    });
    expect(calls).toEqual([['approvals.capability_list', { name: 'refund' }]]);
    expect(out).toContain('title       Refund ${cents} cents');
    expect(out).toContain('timeout     none');
    expect(out).toMatch(/\narguments\n\{"type":"object"\}\n$/);
  });

  test('capability show shows the timeout and the schema of the outputs', async () => {
    const output = { type: 'object', required: ['refund'] };
    const { out } = await typeLine(['capability', 'show', 'refund'], {
      'approvals.capability_list': { items: [{ ...registered, timeoutMs: 5_400_000, output }] },
    });
    expect(out).toMatch(/timeout +5400 s/);
    expect(out).toMatch(/\noutputs\n\{"type":"object","required":\["refund"\]\}\n$/);
  });

  test('an unknown registered capability is an error', async () => {
    const none = { 'approvals.capability_list': { items: [] } };
    const { code, err } = await typeLine(['capability', 'show', 'refund'], none);
    expect(code).toBe(1);
    expect(err).toContain('APPROVALS_UNKNOWN_CAPABILITY');
  });
});

describe('effect claimants', () => {
  const claimant = {
    claimant: 'refunds on host-1',
    x: 'A'.repeat(43),
    principal: 'ada',
    token: 'k-7h2k9m1x4c',
    from: { via: 'http', address: '192.0.2.7' },
    uses: ['cap.remote.refund'],
    isWaiting: false,
    since: NOW - 60_000,
    seenAt: NOW - 2_000,
    holds: [{ id: 'e-1', epoch: 2, uses: 'cap.remote.refund', startedAt: NOW - 5_000 }],
  };

  test('effect claimants shows who claims what, since when and with which token', async () => {
    const { out } = await typeLine(['effect', 'claimants'], { 'executor.claimants': { items: [claimant] } });
    expect(out).toMatch(/^refunds on host-1 +1 order +claims since .* +seen 2 s ago\n/);
    expect(out).toContain('  token   of ada (k-7h2k9m1x4c)');
    expect(out).toContain('  from    192.0.2.7 over HTTP');
    expect(out).toMatch(/ {2}holds e-1 +cap\.remote\.refund +start 2 +for 5 s\n/);
  });

  test('effect claimants lists every page', async () => {
    const other = { ...claimant, claimant: 'refunds on host-2', x: 'B'.repeat(43) };
    const { out } = await typeLine(['effect', 'claimants'], {
      'executor.claimants': ({ after }: { readonly after?: string }) =>
        after === undefined ? { items: [claimant], next: 'place' } : { items: [other] },
    });
    expect(out).toContain('refunds on host-1');
    expect(out).toContain('refunds on host-2');
  });

  test('effect claimants without a program says so', async () => {
    const { out } = await typeLine(['effect', 'claimants'], { 'executor.claimants': { items: [] } });
    expect(out).toBe('no program claims effects\n');
  });
});
