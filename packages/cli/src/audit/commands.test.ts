import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AUDIT_ROOT, auditHash, type AuditLine } from '@holdpoint/contracts/audit/audit';
import { AUDIT_ID } from '@holdpoint/contracts/values/ids';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { keyIdOf } from '@holdpoint/contracts/values/jws';
import { signingKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Answers, NOW, typeLine } from '../../testing/terminal.ts';

type Pair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
const own: Pair = generateKeyPairSync('ed25519');
const stranger: Pair = generateKeyPairSync('ed25519');

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const signedBy = (by: Pair, claims: object): string => {
  const text = `${encode({ alg: 'EdDSA', kid: keyIdOf(by.publicKey) })}.${encode({ iat: 1_768_000_000, ...claims })}`;
  return `${text}.${sign(null, Buffer.from(text), by.privateKey).toString('base64url')}`;
};
const published = (by: Pair) => {
  const keys = [signingKeyOf(by.publicKey)];
  return { keys, statements: [signedBy(by, { use: 'keys', keys })] };
};

const add = (lines: AuditLine[], type: string, entry: object, aggregate = 'a-1'): void => {
  const event = sha256Of(String(lines.length));
  const line = {
    seq: lines.length + 1,
    at: NOW + lines.length,
    aggregate,
    version: 1,
    type,
    eventSha256: event,
    storedSha256: event,
    entry: JSON.stringify(entry),
    previous: lines.at(-1)?.hash ?? AUDIT_ROOT,
  };
  lines.push({ ...line, hash: auditHash(line) });
};

/** A request, its decision, and an anchor of both. */
const logOf = (by: Pair = own): AuditLine[] => {
  const lines: AuditLine[] = [];
  add(lines, 'requested', { requestedBy: 'linus', digest: 'd'.repeat(64), title: 'append\u001b[2J a line' });
  add(lines, 'resolved', { by: 'rule u-1 of ada', outcome: 'approved', rule: 'u-1', surface: 'rule' });
  const anchored = { seq: 2, hash: lines[1]?.hash ?? '' };
  add(
    lines,
    'audit_anchored',
    { ...anchored, statement: signedBy(by, { use: 'audit', ...anchored }) },
    AUDIT_ID,
  );
  return lines;
};

/** Serves the log in pages of two lines. */
const serving = (lines: readonly AuditLine[], by: Pair = own): Answers => ({
  'approvals.keys': published(by),
  'approvals.audit': ({ after = 0, limit = 500 }: { after?: number; limit?: number }) => {
    const left = lines.filter(({ seq }) => seq > after);
    const items = left.slice(0, Math.min(2, limit));
    return { items, more: left.length > items.length };
  },
});

let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'holdpoint-audit-'));
});
afterEach(() => rmSync(directory, { recursive: true }));
const file = (name: string): string => join(directory, name);
const write = (name: string, text: string): void => writeFileSync(file(name), text);

describe('the audit log', () => {
  test('audit list escapes every column', async () => {
    const { code, out, calls } = await typeLine(['audit', 'list'], serving(logOf()));
    expect(code).toBe(0);
    expect(calls.map(([, payload]) => payload)).toEqual([
      { after: 0, limit: 50 },
      { after: 2, limit: 48 },
    ]);
    const [header, first, second] = out.split('\n');
    expect(header).toMatch(/^line +when +about +what +who +digest +rule +surface +text$/);
    expect(first).toMatch(
      /^1 +2026-01-15 09:31:00Z +a-1 +requested +linus +dddddddddddd +append\\u\{1b\}\[2J a line$/,
    );
    expect(second).toMatch(/^2 .* a-1 +resolved approved +rule u-1 of ada +u-1 +rule$/);
  });

  test('audit list filters by line, by approval, and prints JSON', async () => {
    const { out, calls } = await typeLine(
      ['audit', 'list', '--about', 'a-1', '--after', '1', '--limit', '1', '--json'],
      serving(logOf()),
    );
    expect(calls).toEqual([['approvals.audit', { after: 1, limit: 1, about: 'a-1' }]]);
    expect(JSON.parse(out)).toMatchObject({ items: [{ seq: 2, type: 'resolved' }] });
    expect((await typeLine(['audit', 'list'], serving([]))).out).toBe('no lines\n');
  });

  test('audit verify reports an intact log with anchors and keys', async () => {
    const { code, out, err } = await typeLine(['audit', 'verify'], serving(logOf()));
    expect([code, out]).toEqual([
      0,
      `audit log intact: 3 lines, last hash ${logOf()[2]?.hash.slice(0, 12) ?? ''}\n` +
        '1 anchors, up to line 2; the last 1 lines are not anchored yet\n' +
        `keys: ${keyIdOf(own.publicKey)}\n`,
    ]);
    expect(err).toContain('use --keys');
    expect(err).toContain('could not read the anchors on the bus');
  });

  test('audit verify reports an altered line', async () => {
    const lines = logOf();
    const changed = lines.map((line) => (line.seq === 2 ? { ...line, entry: '{"by":"eve"}' } : line));
    const { code, out } = await typeLine(['audit', 'verify'], serving(changed));
    expect(code).toBe(1);
    expect(out).toMatch(
      /^line 2 +altered +its hash does not match the content\naudit log damaged: 1 problems in 3 lines\n/,
    );
    const json = await typeLine(['audit', 'verify', '--json'], serving(changed));
    expect([json.code, JSON.parse(json.out)]).toMatchObject([
      1,
      { problemCount: 1, problems: [{ seq: 2, fault: 'altered' }] },
    ]);
  });

  test('audit verify distrusts a log signed with an unknown key', async () => {
    write('grant.pub.pem', signingKeyOf(own.publicKey).publicKey);
    const trusting = (lines: AuditLine[], by: Pair) =>
      typeLine(['audit', 'verify', '--keys', 'grant.pub.pem'], serving(lines, by), { directory });
    const good = await trusting(logOf(), own);
    expect([good.code, good.err]).toEqual([0, expect.not.stringContaining('with --keys')]);
    const bad = await trusting(logOf(stranger), stranger);
    expect([bad.code, bad.out]).toEqual([1, expect.stringMatching(/^line 3 +anchor unsigned/)]);
  });

  test('audit verify warns of a log without anchors', async () => {
    const { code, err } = await typeLine(['audit', 'verify'], serving(logOf().slice(0, 2)));
    expect([code, err]).toEqual([0, expect.stringContaining('no anchor found')]);
  });
});

describe('an export of the audit log', () => {
  const exported = async (lines: AuditLine[] = logOf()) => {
    const made = await typeLine(['audit', 'export', '--out', 'audit.jsonl'], serving(lines), { directory });
    expect([made.code, made.out]).toEqual([0, `wrote ${String(lines.length)} lines to audit.jsonl\n`]);
    return readFileSync(file('audit.jsonl'), 'utf8').trimEnd().split('\n');
  };
  const verify = (...more: readonly string[]) =>
    typeLine(['audit', 'verify', '--file', 'audit.jsonl', ...more], {}, { directory });

  test('an export has keys, lines and end, and is verified offline', async () => {
    const parts = await exported();
    expect(parts.map((part) => (JSON.parse(part) as { kind: string }).kind)).toEqual([
      'keys',
      'line',
      'line',
      'line',
      'end',
    ]);
    const { code, out, calls } = await verify();
    expect([code, calls]).toEqual([0, []]);
    expect(out).toContain('export fits together, but brought its own keys: 3 lines');
  });

  test('an export is called intact only with trusted keys', async () => {
    await exported();
    write('grant.pub.pem', signingKeyOf(own.publicKey).publicKey);
    expect((await verify()).out).not.toContain('intact');
    expect((await verify('--keys', 'grant.pub.pem')).out).toContain('audit log intact: 3 lines');
  });

  test('an export goes to standard output without --out', async () => {
    const { out } = await typeLine(['audit', 'export'], serving(logOf()));
    write('audit.jsonl', out);
    expect((await verify()).code).toBe(0);
  });

  test('an export never overwrites a file', async () => {
    write('audit.jsonl', 'mine');
    const { code, err } = await typeLine(['audit', 'export', '--out', 'audit.jsonl'], serving(logOf()), {
      directory,
    });
    expect([code, err]).toEqual([2, expect.stringContaining('already exists')]);
  });

  test('audit verify detects a changed export', async () => {
    const parts = await exported();
    write('audit.jsonl', parts.map((part) => part.replace('of ada', 'of eve')).join('\n'));
    expect((await verify()).out).toMatch(/^line 2 +altered/);
    write('audit.jsonl', parts.with(2, '{"kind":"line","line":"nothing"}').join('\n'));
    expect((await verify()).out).toMatch(/^line 2 +unreadable/);
  });

  test.each<[string, (parts: string[]) => string[], string]>([
    ['without its end', (parts) => parts.slice(0, -1), 'its end is missing'],
    ['that lacks a line before its end', (parts) => parts.toSpliced(3, 1), 'expected 3 lines'],
    ['that is cut in a line', (parts) => [...parts.slice(0, 3), '{"kind":"li'], 'altered or shortened'],
    ['without its keys', (parts) => parts.slice(1), 'its keys are missing'],
    [
      'with something behind its end',
      (parts) => [...parts, '{"kind":"end","lines":3}'],
      'altered or shortened',
    ],
    ['that is empty', () => [], 'its end is missing'],
  ])('the verification of an export %s fails with 1', async (_, change, problem) => {
    write('audit.jsonl', change(await exported()).join('\n'));
    const { code, err } = await verify();
    expect([code, err]).toEqual([1, expect.stringContaining(problem)]);
  });

  test('a file that is no export is a mistake in the command', async () => {
    write('audit.jsonl', 'no export');
    const { code, err } = await verify();
    expect([code, err]).toEqual([2, expect.stringContaining('is not an export')]);
  });

  test('an earlier export reveals a rewrite of the whole log', async () => {
    await exported();
    const anew: AuditLine[] = [];
    add(anew, 'requested', { requestedBy: 'eve' });
    add(anew, 'resolved', { by: 'eve' });
    const { code, out } = await typeLine(['audit', 'verify', '--anchors', 'audit.jsonl'], serving(anew), {
      directory,
    });
    expect([code, out]).toEqual([1, expect.stringMatching(/^line 2 +rewritten/)]);
  });

  test('a missing export and invalid keys are refused', async () => {
    const missing = await verify();
    expect([missing.code, missing.err]).toEqual([2, expect.stringContaining('cannot be read')]);
    await exported();
    write('keys.pem', 'no key');
    const keyless = await verify('--keys', 'keys.pem');
    expect([keyless.code, keyless.err]).toEqual([2, expect.stringContaining('no public key in PEM')]);
  });
});
