import type { AuditLine } from '@holdpoint/contracts/audit/audit';
import type { AuditProblem } from '@holdpoint/contracts/audit/verify';
import { z } from 'zod';
import { columns, instant, shorten } from '../output/columns.ts';
import type { Verified } from './verify.ts';

const Text = z.string().optional().catch(undefined);

/** What a line tells people first. Anything else of its entry is shown with `--json`. */
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
    // Whoever verifies the log is told; the list shows what can be shown.
    return {};
  }
};

const DIGEST_SHOWN = 12;
const TEXT_SHOWN = 60;

const whoOf = ({ by, requestedBy, requester, author, principal }: Entry): string =>
  by ?? requestedBy ?? requester ?? author?.name ?? principal ?? '';

const whatOf = (type: string, { decision, outcome, answer, notice, code }: Entry): string =>
  [type, decision ?? answer ?? outcome ?? notice ?? code].filter((word) => word !== undefined).join(' ');

const sayingOf = ({ comment, title, reason, problem, name }: Entry): string =>
  shorten(comment ?? title ?? reason ?? problem ?? name ?? '', TEXT_SHOWN);

const rowOf = (line: AuditLine): readonly string[] => {
  const entry = entryOf(line);
  const { digest, rule, remembered, surface } = entry;
  return [
    String(line.seq),
    instant(line.at),
    line.aggregate,
    whatOf(line.type, entry),
    whoOf(entry),
    digest?.slice(0, DIGEST_SHOWN) ?? '',
    rule ?? remembered ?? '',
    surface ?? '',
    sayingOf(entry),
  ];
};

const HEADER = ['line', 'when', 'about', 'what', 'who', 'digest', 'rule', 'surface', 'text'];

/** Lines for people: when, about what, what, who, digest, rule and surface. */
export const auditText = (items: readonly AuditLine[]): readonly string[] =>
  columns([HEADER, ...items.map(rowOf)]);

const NAMES = {
  unreadable: 'unreadable',
  missing: 'missing',
  misplaced: 'misplaced',
  altered: 'altered',
  unlinked: 'unlinked',
  event_altered: 'event altered',
  event_gone: 'event gone',
  anchor_unsigned: 'anchor unsigned',
  rewritten: 'rewritten',
  cut_off: 'cut off',
} as const satisfies Record<AuditProblem['fault'], string>;

const placeOf = (seq: number): string => (seq === 0 ? 'beside the log' : `line ${String(seq)}`);

/** What came of a look at the whole log. */
export const verifiedText = ({ report, keys }: Verified): readonly string[] => {
  const { lines, head, anchoredTo, anchors, problems, problemCount } = report;
  const told = problems.map(({ seq, fault, text }) => [placeOf(seq), NAMES[fault], text]);
  const more = problemCount - problems.length;
  const behind = (head?.seq ?? 0) - anchoredTo;
  return [
    ...columns(told),
    ...(more > 0 ? [`and ${String(more)} more`] : []),
    problemCount === 0
      ? `the audit log is whole: ${String(lines)} lines${head === undefined ? '' : `, the last one ${head.hash.slice(0, DIGEST_SHOWN)}`}`
      : `the audit log is not what was written: ${String(problemCount)} faults in ${String(lines)} lines`,
    `${String(anchors)} anchors, up to line ${String(anchoredTo)}; ${String(behind)} lines behind the last one are not anchored yet`,
    `keys: ${keys.join(', ')}`,
  ];
};
