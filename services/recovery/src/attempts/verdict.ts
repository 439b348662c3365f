import type { AssessFailure } from '@holdpoint/contracts/recovery/commands';
import { HINT_MAX, REPORT_MAX, SAME_MAX, type Verdict } from '@holdpoint/contracts/recovery/verdict';
import { type SameApproach, sameApproaches } from './circular.ts';
import { type Classification, classify } from '../classification/classify.ts';
import { fingerprintOf } from '../classification/fingerprint.ts';
import { failuresSinceSuccess, goodCommit, type History, sessionOf } from './history.ts';
import { hintFor } from './hint.ts';
import { reportOn } from './report.ts';
import { delayMsOf, rowFor, TABLE_VERSION } from './verdict-table.ts';

export type Assessment = { readonly verdict: Verdict; readonly fingerprint: string };

type InHistory = Classification & { readonly same?: readonly SameApproach[] };

/** Class of a failure in view of the earlier attempts. */
const classInHistory = (history: History, failure: AssessFailure): InHistory => {
  const found = classify(failure);
  const earlier = failuresSinceSuccess(history, failure.node).map(({ attempt, report }) => ({
    attempt,
    approach: report?.approach,
  }));
  const last = { attempt: failure.attempt, approach: failure.report?.approach };
  const same = sameApproaches(found.class, earlier, last, failure.rules);
  if (same === undefined) return found;
  const { evidence } = found.classification;
  return { class: 'CIRCULAR_FIX', classification: { rule: `circle/${found.class}`, evidence }, same };
};

/** A lost worker counts once per loss, not per attempt. */
const countOf = (
  { crashes = 0 }: AssessFailure,
  { class: found }: Classification,
  history: History,
  node: AssessFailure['node'],
) => {
  const before = failuresSinceSuccess(history, node).filter(({ verdict }) => verdict.class === found).length;
  return before + (found === 'WORKER_CRASH' ? Math.max(1, crashes) : 1);
};

const cut = (text: string, max: number): string => text.slice(0, max).toWellFormed();

const BLOCKED_PATH = 'the critical path of the task is blocked';

/** Verdict on a failed attempt: a pure function of the failure and the history. */
export const judge = (history: History, failure: AssessFailure): Assessment => {
  const { node, place, rules } = failure;
  const fingerprint = fingerprintOf(failure);
  const found = classInHistory(history, failure);
  const failures = countOf(failure, found, history, node);
  const commit = goodCommit(history, place);
  const isCritical = failure.dependents?.critical === true;
  const row = rowFor({
    class: found.class,
    failures,
    hasGoodCommit: commit !== undefined,
    isCritical,
    rules,
  });
  const isLeft = row.verdict === 'skip' || row.verdict === 'escalate';
  const base: Verdict = {
    kind: row.verdict,
    delayMs: delayMsOf(row, failures, rules),
    class: found.class,
    rule: `verdicts@${String(TABLE_VERSION)}/${row.name}`,
    reason: isLeft && isCritical ? `${row.reason}; ${BLOCKED_PATH}` : row.reason,
    classification: found.classification,
    ...(found.same && {
      same: found.same
        .slice(-SAME_MAX)
        .map(({ attempt, similarity }) => ({ attempt, similarity: Math.round(similarity * 100) / 100 })),
    }),
  };
  return { fingerprint, verdict: withDetails(base, history, failure, commit) };
};

const withDetails = (
  verdict: Verdict,
  history: History,
  failure: AssessFailure,
  commit: string | undefined,
): Verdict => {
  switch (verdict.kind) {
    case 'retry':
      return { ...verdict, hint: cut(hintFor(history, failure, verdict), HINT_MAX) };
    case 'rollback':
      return { ...verdict, commit, hint: cut(hintFor(history, failure, verdict), HINT_MAX) };
    case 'continue':
      return {
        ...verdict,
        session: sessionOf(history, failure.node) + 1,
        hint: cut(hintFor(history, failure, verdict), HINT_MAX),
      };
    case 'skip':
    case 'escalate':
      return { ...verdict, report: cut(reportOn(history, failure, verdict), REPORT_MAX) };
  }
};

const PAUSED_RULE = `verdicts@${String(TABLE_VERSION)}/paused`;

/** Whether this verdict gave the job up because operators decide about it. */
export const isPause = ({ rule }: Pick<Verdict, 'rule'>): boolean => rule === PAUSED_RULE;

/** The verdict that replaces one that the orchestrator does not follow. */
export const escalated = (history: History, failure: AssessFailure, verdict: Verdict): Verdict => {
  const { class: found, classification: because, same } = verdict;
  const { refused = '', paused } = failure;
  const before = history.attempts.filter(
    ({ node, attempt }) => node !== failure.node || attempt !== failure.attempt,
  );
  const base: Verdict = {
    kind: 'escalate',
    delayMs: 0,
    class: found,
    rule: paused === undefined ? verdict.rule : PAUSED_RULE,
    reason: paused ?? `${verdict.reason}; ${refused}`,
    ...(because && { classification: because }),
    ...(same && { same }),
  };
  return withDetails(base, { ...history, attempts: before }, failure, undefined);
};
