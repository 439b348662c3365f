import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AUDIT_ROOT, auditHash, type AuditLine } from './audit.ts';
import { verifyAudit } from './verify.ts';
import { AUDIT_ID } from '../values/ids.ts';
import { sha256Of } from '../values/json.ts';
import { createVerifier, keyIdOf } from '../values/jws.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const stranger = generateKeyPairSync('ed25519');
const verify = createVerifier([publicKey]);

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
const statementBy = (
  by: { readonly publicKey: KeyObject; readonly privateKey: KeyObject },
  seq: number,
  hash: string,
): string => {
  const text = `${encode({ alg: 'EdDSA', kid: keyIdOf(by.publicKey) })}.${encode({ use: 'audit', seq, hash, iat: 1_768_000_000 })}`;
  return `${text}.${sign(null, Buffer.from(text), by.privateKey).toString('base64url')}`;
};
const anchorOf = ({ seq, hash }: AuditLine): string => statementBy({ publicKey, privateKey }, seq, hash);

type Unhashed = Omit<AuditLine, 'seq' | 'previous' | 'hash'>;

/** Lines as the database writes them. */
const chainOf = (told: readonly Unhashed[]): AuditLine[] => {
  const lines: AuditLine[] = [];
  for (const each of told) {
    const line = { ...each, seq: lines.length + 1, previous: lines.at(-1)?.hash ?? AUDIT_ROOT };
    lines.push({ ...line, hash: auditHash(line) });
  }
  return lines;
};

/** What an attacker with write access does to hide a change: recompute every hash. */
const rehashed = (lines: readonly AuditLine[]): AuditLine[] =>
  chainOf(lines.map(({ seq: _, previous: __, hash: ___, ...told }) => told));

const UnhashedLine: fc.Arbitrary<Unhashed> = fc
  .record({
    at: fc.nat(),
    aggregate: fc.string().map((text) => text.replaceAll('\n', '')),
    version: fc.integer({ min: 1, max: 9 }),
    type: fc.constantFrom('requested', 'resolved', 'voted'),
    data: fc.string({ unit: 'grapheme' }),
    entry: fc.json(),
  })
  .map(({ data, ...told }) => ({ ...told, eventSha256: sha256Of(data), storedSha256: sha256Of(data) }));
const Chain = fc.array(UnhashedLine, { minLength: 1, maxLength: 12 }).map(chainOf);

const faultsOf = (lines: readonly unknown[], anchors: readonly string[] = []) =>
  verifyAudit(lines, { anchors, verify }).problems.map(({ fault }) => fault);

const FIELDS = [
  'seq',
  'at',
  'aggregate',
  'version',
  'type',
  'eventSha256',
  'storedSha256',
  'entry',
  'previous',
  'hash',
] as const;

const changed = (line: AuditLine, field: (typeof FIELDS)[number], text: string, by: number): AuditLine => {
  const value = line[field];
  if (typeof value === 'number') return { ...line, [field]: value + by };
  const isHash =
    field === 'eventSha256' || field === 'storedSha256' || field === 'previous' || field === 'hash';
  return { ...line, [field]: isHash ? sha256Of(`${text}${String(value)}`) : `${text}${String(value)}` };
};

describe('an audit log', () => {
  test('an untouched audit log is valid', () => {
    fc.assert(
      fc.property(Chain, fc.nat(), (lines, pick) => {
        const line = lines[pick % lines.length];
        const report = verifyAudit(lines, { anchors: line === undefined ? [] : [anchorOf(line)], verify });
        expect(report).toMatchObject({ lines: lines.length, problems: [], problemCount: 0, anchors: 1 });
        expect(report.anchoredTo).toBe(line?.seq);
        expect(report.head?.hash).toBe(lines.at(-1)?.hash);
      }),
    );
  });

  test('an empty audit log is valid unless an anchor covers a line', () => {
    expect(verifyAudit([], { anchors: [], verify })).toMatchObject({ head: undefined, problemCount: 0 });
    expect(faultsOf([], [statementBy({ publicKey, privateKey }, 3, AUDIT_ROOT)])).toEqual(['cut_off']);
  });

  test('a change of any field of any line is detected at its line', () => {
    fc.assert(
      fc.property(
        Chain,
        fc.nat(),
        fc.constantFrom(...FIELDS),
        fc.string({ minLength: 1 }),
        fc.integer({ min: 1, max: 5 }),
        (lines, pick, field, text, by) => {
          const at = pick % lines.length;
          const line = lines[at];
          if (line === undefined) throw new Error('a chain has a line');
          const { problems } = verifyAudit(lines.with(at, changed(line, field, text, by)), {
            anchors: [],
            verify,
          });
          expect(problems).not.toEqual([]);
          // The line after one with a changed hash, or one that only seems to be missing.
          expect(problems.some(({ seq }) => Math.abs(seq - line.seq) <= by + 1)).toBe(true);
        },
      ),
    );
  });

  test('deleted, repeated, inserted and moved lines are detected', () => {
    fc.assert(
      fc.property(Chain, fc.nat(), fc.nat(), UnhashedLine, (lines, from, to, told) => {
        const anchors = lines.slice(-1).map(anchorOf);
        const at = from % lines.length;
        expect(faultsOf(lines.toSpliced(at, 1), anchors)).not.toEqual([]);
        const [line] = lines.slice(at, at + 1);
        expect(faultsOf(lines.toSpliced(at, 0, ...(line ? [line] : [])), anchors)).not.toEqual([]);
        const put = chainOf([...lines.slice(0, at), told]).slice(-1);
        expect(faultsOf(lines.toSpliced(at, 0, ...put), anchors)).not.toEqual([]);
        const into = to % lines.length;
        const moved = lines.toSpliced(at, 1).toSpliced(into, 0, ...(line ? [line] : []));
        expect(faultsOf(moved, anchors).length > 0).toBe(into !== at);
      }),
    );
  });

  test('an anchor reveals changes even after all later hashes were recomputed', () => {
    fc.assert(
      fc.property(Chain, fc.nat(), fc.nat(), UnhashedLine, (lines, from, behind, told) => {
        const at = from % lines.length;
        const anchor = lines[at + (behind % (lines.length - at))];
        const anchors = anchor === undefined ? [] : [anchorOf(anchor)];
        const line = lines[at];
        if (line === undefined) throw new Error('a chain has a line');
        const other = { ...line, entry: `${line.entry} ` };
        expect(faultsOf(rehashed(lines.with(at, other)), anchors)).toEqual(['rewritten']);
        expect(
          faultsOf(rehashed(lines.toSpliced(at, 0, { ...line, ...told, entry: `${told.entry} ` })), anchors),
        ).not.toEqual([]);
        const without = rehashed(lines.toSpliced(at, 1));
        // Among equal lines, a deletion may blame the line before it.
        const same = without[(anchor?.seq ?? 0) - 1]?.hash === anchor?.hash;
        expect(faultsOf(without, anchors).length > 0).toBe(!same);
      }),
    );
  });

  test('a truncation before an anchor is detected', () => {
    fc.assert(
      fc.property(Chain, fc.nat(), (lines, pick) => {
        const left = pick % lines.length;
        expect(faultsOf(lines.slice(0, left), lines.slice(-1).map(anchorOf))).toEqual(['cut_off']);
      }),
    );
  });

  const told = (more: Partial<Unhashed> = {}): Unhashed => ({
    at: 1,
    aggregate: 'a-1',
    version: 1,
    type: 'requested',
    eventSha256: sha256Of('x'),
    entry: '{}',
    ...more,
  });
  const withAnchor = (statement: (line: AuditLine) => string, aggregate: string = AUDIT_ID): AuditLine[] => {
    const [line] = chainOf([told()]);
    if (line === undefined) throw new Error('a chain has a line');
    const entry = JSON.stringify({ seq: line.seq, hash: line.hash, statement: statement(line) });
    return chainOf([told(), told({ aggregate, type: 'audit_anchored', entry })]);
  };

  test('anchors inside the log count like anchors outside it', () => {
    const lines = withAnchor(anchorOf);
    expect(verifyAudit(lines, { anchors: [], verify })).toMatchObject({
      anchoredTo: 1,
      anchors: 1,
      problemCount: 0,
    });
    const [first, second] = lines;
    if (first === undefined || second === undefined) throw new Error('two lines');
    expect(faultsOf(rehashed([{ ...first, entry: '{"by":"eve"}' }, second]))).toEqual(['rewritten']);
  });

  test('forged, misplaced and malformed anchors are reported', () => {
    expect(faultsOf(withAnchor(({ seq, hash }) => statementBy(stranger, seq, hash)))).toEqual([
      'anchor_unsigned',
    ]);
    expect(faultsOf(withAnchor(({ hash }) => statementBy({ publicKey, privateKey }, 2, hash)))).toEqual([
      'anchor_unsigned',
    ]);
    expect(faultsOf(withAnchor(() => 'nothing'))).toEqual(['anchor_unsigned']);
    expect(faultsOf(withAnchor(anchorOf, 'a-1'))).toEqual(['anchor_unsigned']);
    expect(faultsOf([], [statementBy(stranger, 1, AUDIT_ROOT)])).toEqual(['anchor_unsigned']);
  });

  test('changed and missing events are reported, purged ones are not', () => {
    expect(faultsOf(chainOf([told({ storedSha256: sha256Of('y') })]))).toEqual(['event_altered']);
    expect(faultsOf(chainOf([told({ eventGone: true })]))).toEqual(['event_gone']);
    expect(faultsOf(chainOf([told()]))).toEqual([]);
  });

  test('an invalid line is reported, and verification continues after it', () => {
    const lines: unknown[] = chainOf([told(), told(), told()]);
    expect(verifyAudit(lines.with(1, 'no line'), { anchors: [], verify })).toMatchObject({
      lines: 3,
      problems: [{ seq: 2, fault: 'unreadable' }],
    });
    expect(faultsOf(lines.with(1, { ...(lines[1] as AuditLine), aggregate: 'a\n1' }))).toEqual([
      'unreadable',
    ]);
  });

  test('of thousands of problems, the first ones and the total are reported', () => {
    const lines = chainOf(Array.from({ length: 3_000 }, () => told({ eventGone: true })));
    const report = verifyAudit(lines, { anchors: [], verify });
    expect(report.problemCount).toBe(3_000);
    expect(report.problems).toHaveLength(100);
    expect(report.problems[0]).toMatchObject({ seq: 1, fault: 'event_gone' });
  });
});
