import { z } from 'zod';
import { AUDIT_ROOT, AuditClaims, auditHash, AuditLine } from './audit.ts';
import { AUDIT_ID } from '../values/ids.ts';
import { keyIdIn } from '../values/jws.ts';

/** Kinds of problems in an audit log. */
export type AuditFault =
  /** Not a valid line. */
  | 'unreadable'
  /** Lines are missing. */
  | 'missing'
  /** A line is at a wrong position: moved, repeated or inserted. */
  | 'misplaced'
  /** The hash of a line does not match its content. */
  | 'altered'
  /** A line does not continue the previous one. */
  | 'unlinked'
  /** The event of a line differs from the recorded one, or is missing although nothing was purged. */
  | 'event_altered'
  | 'event_gone'
  /** An anchor without a known signature, or one that contradicts its line. */
  | 'anchor_unsigned'
  /** The anchored line had another hash: the log was rewritten before it. */
  | 'rewritten'
  /** Anchors refer to lines beyond the end. */
  | 'cut_off';

/** Line number of the finding. */
export type AuditProblem = { readonly seq: number; readonly fault: AuditFault; readonly text: string };

export type AuditReport = {
  readonly lines: number;
  /** Undefined without lines. */
  readonly head: { readonly seq: number; readonly hash: string } | undefined;
  /** Last line that a signature covers; 0 without any. Truncation after it is not detectable. */
  readonly anchoredTo: number;
  /** Anchors with a known signature that match the log. */
  readonly anchors: number;
  /** The first problems; `problemCount` counts all. */
  readonly problems: readonly AuditProblem[];
  readonly problemCount: number;
};

export type AuditGuide = {
  /** Anchor statements that were kept outside the log. Anchors inside the log are found automatically. */
  readonly anchors: readonly string[];
  /** Claims of a statement that a trusted key signed. */
  readonly verify: (statement: string) => unknown;
};

export type AuditVerifier = {
  /** The next line, valid or not. */
  readonly take: (line: unknown) => void;
  readonly finish: () => AuditReport;
};

const PROBLEMS_MAX = 100;
/** Anchors refer to recent lines only; this many are remembered. */
const REMEMBERED = 100_000;

const Anchor = z.object({ seq: z.int(), hash: z.string(), statement: z.string() });

const anchorIn = (entry: string): z.infer<typeof Anchor> | undefined => {
  try {
    return Anchor.safeParse(JSON.parse(entry)).data;
  } catch {
    // The caller could not parse it as a line.
    return undefined;
  }
};

const range = (from: number, to: number): string =>
  from === to ? `line ${String(from)} is missing` : `lines ${String(from)} to ${String(to)} are missing`;

/**
 * Verifies the whole log, line by line from the first. It detects changed, deleted, inserted, moved and
 * rewritten lines, but no truncation after the last anchor. Uses little memory for logs of any length.
 */
export const createAuditVerifier = ({ anchors, verify }: AuditGuide): AuditVerifier => {
  const problems: AuditProblem[] = [];
  let problemCount = 0;
  const note = (seq: number, fault: AuditFault, text: string): void => {
    problemCount += 1;
    if (problems.length < PROBLEMS_MAX) problems.push({ seq, fault, text });
  };

  const claimsOf = (statement: string): AuditClaims | undefined =>
    AuditClaims.safeParse(verify(statement)).data;
  const unsigned = (seq: number, statement: string): void => {
    const key = keyIdIn(statement);
    const by = key === undefined ? 'not signed' : `key ${key} is not trusted`;
    note(seq, 'anchor_unsigned', `invalid anchor: ${by}`);
  };

  let lines = 0;
  let last: { readonly seq: number; readonly hash: string } = { seq: 0, hash: AUDIT_ROOT };
  /** False after an unreadable line: the next line cannot be checked against it. */
  let linked = true;
  let anchoredTo = 0;
  let anchorCount = 0;
  const recent = new Map<number, string>();

  const anchored = (seq: number, hash: string, { iat, ...signed }: AuditClaims): void => {
    if (signed.hash === hash) {
      anchorCount += 1;
      anchoredTo = Math.max(anchoredTo, seq);
      return;
    }
    const when = new Date(iat * 1_000).toISOString();
    note(seq, 'rewritten', `an anchor of ${when} has another hash: the log changed up to this line`);
  };

  const kept = new Map<number, AuditClaims[]>();
  for (const statement of new Set(anchors)) {
    const claims = claimsOf(statement);
    if (claims === undefined) unsigned(0, statement);
    else kept.set(claims.seq, [...(kept.get(claims.seq) ?? []), claims]);
  }

  /** An anchor that is a line of the log. */
  const takeAnchor = ({ seq, aggregate, entry }: AuditLine): void => {
    const said = anchorIn(entry);
    if (said === undefined || aggregate !== AUDIT_ID) return note(seq, 'anchor_unsigned', 'malformed anchor');
    const claims = claimsOf(said.statement);
    if (claims === undefined) return unsigned(seq, said.statement);
    const hash = claims.seq < seq ? recent.get(claims.seq) : undefined;
    if (claims.seq !== said.seq || claims.hash !== said.hash || hash === undefined)
      return note(seq, 'anchor_unsigned', 'the anchor is of another line');
    return anchored(claims.seq, hash, claims);
  };

  const takeLine = (line: AuditLine): void => {
    const { seq, hash, previous, eventSha256, storedSha256, eventGone } = line;
    const before = last.seq;
    if (seq <= before) note(seq, 'misplaced', `it follows line ${String(before)}`);
    else if (seq > before + 1) note(before + 1, 'missing', range(before + 1, seq - 1));
    else if (linked && previous !== last.hash) note(seq, 'unlinked', 'its previous hash does not match');
    if (hash !== auditHash(line)) note(seq, 'altered', 'its hash does not match the content');
    if (eventGone === true) note(seq, 'event_gone', 'its event is missing, or has another type or time');
    else if (storedSha256 !== undefined && storedSha256 !== eventSha256)
      note(seq, 'event_altered', 'its event differs from the recorded one');
    // A misplaced line is no reference for the next one.
    if (seq <= before) return;
    last = { seq, hash };
    linked = true;
    recent.set(seq, hash);
    recent.delete(seq - REMEMBERED);
    for (const claims of kept.get(seq) ?? []) anchored(seq, hash, claims);
    if (line.type === 'audit_anchored') takeAnchor(line);
  };

  return {
    take: (value) => {
      lines += 1;
      const line = AuditLine.safeParse(value);
      if (line.success) return takeLine(line.data);
      note(last.seq + 1, 'unreadable', 'not a line of the log');
      last = { ...last, seq: last.seq + 1 };
      linked = false;
    },
    finish: () => {
      const beyond = [...kept.keys()].filter((seq) => seq > last.seq);
      if (beyond.length > 0) {
        const to = beyond.reduce((most, seq) => Math.max(most, seq), 0);
        note(
          last.seq + 1,
          'cut_off',
          `the log ends at ${String(last.seq)}, but anchors cover line ${String(to)}`,
        );
      }
      return {
        lines,
        head: last.seq === 0 ? undefined : last,
        anchoredTo,
        anchors: anchorCount,
        problems,
        problemCount,
      };
    },
  };
};

/** Verifies lines that are in memory. */
export const verifyAudit = (lines: Iterable<unknown>, guide: AuditGuide): AuditReport => {
  const { take, finish } = createAuditVerifier(guide);
  for (const line of lines) take(line);
  return finish();
};
