import type { AuditLine } from '@holdpoint/contracts/audit/audit';
import type { AuditProblem } from '@holdpoint/contracts/audit/verify';
import { z } from 'zod';
import { columns, instant, shorten } from '../output/columns.ts';
import type { Verification } from './verify.ts';

const Text = z.string().optional().catch(undefined);

/** The fields shown in the list. `--json` shows all fields. */
const Entry = z
  .object({
    by: Text,
    requestedBy: Text,
    requester: Text,
    author: z.object({ name: Text }).optional().catch(undefined),
    principal: Text,
    digest: Text,
    rule: Text,
    remembered: Text,
    surface: Text,
    decision: Text,
    outcome: Text,
    answer: Text,
    notice: Text,
    code: Text,
    title: Text,
    comment: Text,
    name: Text,
    problem: Text,
    reason: Text,
  })
  .catch({});
type Entry = z.infer<typeof Entry>;

const entryOf = ({ entry }: AuditLine): Entry => {
  try {
    return Entry.parse(JSON.parse(entry));
  } catch {
    // Verification reports this; the list shows the readable part.
    return {};
  }
};

const DIGEST_SHOWN = 12;
const TEXT_SHOWN = 60;

const actorOf = ({ by, requestedBy, requester, author, principal }: Entry): string =>
  by ?? requestedBy ?? requester ?? author?.name ?? principal ?? '';

const actionOf = (type: string, { decision, outcome, answer, notice, code }: Entry): string =>
  [type, decision ?? answer ?? outcome ?? notice ?? code].filter((word) => word !== undefined).join(' ');

const commentOf = ({ comment, title, reason, problem, name }: Entry): string =>
  shorten(comment ?? title ?? reason ?? problem ?? name ?? '', TEXT_SHOWN);

const rowOf = (line: AuditLine): readonly string[] => {
  const entry = entryOf(line);
  const { digest, rule, remembered, surface } = entry;
  return [
    String(line.seq),
    instant(line.at),
    line.aggregate,
    actionOf(line.type, entry),
    actorOf(entry),
    digest?.slice(0, DIGEST_SHOWN) ?? '',
    rule ?? remembered ?? '',
    surface ?? '',
    commentOf(entry),
  ];
};

const HEADER = ['line', 'when', 'about', 'what', 'who', 'digest', 'rule', 'surface', 'text'];

export const auditText = (items: readonly AuditLine[]): readonly string[] =>
  columns([HEADER, ...items.map(rowOf)]);

const NAMES = {
  unreadable: 'unreadable',
  missing: 'missing',
  misplaced: 'misplaced',
  altered: 'altered',
  unlinked: 'unlinked',
  event_altered: 'event altered',
  event_gone: 'event missing',
  anchor_unsigned: 'anchor unsigned',
  rewritten: 'rewritten',
  cut_off: 'truncated',
} as const satisfies Record<AuditProblem['fault'], string>;

const placeOf = (seq: number): string => (seq === 0 ? 'outside the log' : `line ${String(seq)}`);

export const verificationText = ({ report, keys, isSelfSigned }: Verification): readonly string[] => {
  const { lines, head, anchoredTo, anchors, problems, problemCount } = report;
  const rows = problems.map(({ seq, fault, text }) => [placeOf(seq), NAMES[fault], text]);
  const more = problemCount - problems.length;
  const behind = (head?.seq ?? 0) - anchoredTo;
  return [
    ...columns(rows),
    ...(more > 0 ? [`and ${String(more)} more`] : []),
    problemCount === 0
      ? `${isSelfSigned ? 'export fits together, but brought its own keys' : 'audit log intact'}: ${String(lines)} lines${head === undefined ? '' : `, last hash ${head.hash.slice(0, DIGEST_SHOWN)}`}`
      : `audit log damaged: ${String(problemCount)} problems in ${String(lines)} lines`,
    `${String(anchors)} anchors, up to line ${String(anchoredTo)}; the last ${String(behind)} lines are not anchored yet`,
    `keys: ${keys.join(', ')}`,
  ];
};
