import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import { mayDecideNow, questionOf } from '@holdpoint/contracts/approval/question';
import { hasCode } from '@holdpoint/contracts/values/errors';
import { setTimeout as pause } from 'node:timers/promises';
import { askAbout } from './prompt.ts';
import { approvalText, decisionText, subjectLine } from './text.ts';
import type { Client } from '../bus/client.ts';
import { everyPage } from '../bus/every-page.ts';
import type { Session } from '../kit/session.ts';

const LOOK_EVERY_MS = 2_000;
/** Limit for decisions of others that are printed one by one. */
const DECIDED_MAX = 50;

/** All pending requests: a missing one would look decided. */
const pendingOf = (
  client: Client,
  audience: readonly string[] | undefined,
): Promise<readonly ApprovalView[]> =>
  everyPage(Infinity, (cursor) =>
    client.call('approvals', 'list', {
      ...cursor,
      ...(audience !== undefined && { audience: [...audience] }),
    }),
  );

/** Includes the changes since the previous review. */
const inFull = (client: Client, approval: ApprovalView): Promise<ApprovalView> =>
  approval.revision === 1 || questionOf(approval) !== 'effect'
    ? Promise.resolve(approval)
    : client.call('approvals', 'get', { id: approval.id });

const resolvedLine = async (client: Client, approval: ApprovalView): Promise<string> => {
  const { id } = approval;
  try {
    const settled = await client.call('approvals', 'get', { id });
    return `${id} is ${decisionText(settled)} (${subjectLine(approval)})`;
  } catch (error) {
    if (hasCode(error, 'APPROVALS_UNKNOWN')) return `${id} no longer exists`;
    throw error;
  }
};

/**
 * Shows each pending request once and asks for a decision on a terminal; then shows the decisions of others.
 * `audience` limits this to requests addressed to one of these names.
 */
export const watchApprovals = async (
  client: Client,
  session: Session,
  { once, audience }: { readonly once: boolean; readonly audience?: readonly string[] | undefined },
): Promise<void> => {
  const shown = new Set<string>();
  const waiting = new Map<string, ApprovalView>();
  const terminal = client.canDecide === true ? session.terminal() : undefined;
  const person = terminal && (await client.call('approvals', 'whoami', {}));
  const mayAnswer = (approval: ApprovalView): boolean =>
    person !== undefined && mayDecideNow(person, approval);
  for (;;) {
    const pending = await pendingOf(client, audience);
    const still = new Set(pending.map(({ id }) => id));
    const gone = [...waiting.values()].filter(({ id }) => !still.has(id));
    for (const approval of gone) waiting.delete(approval.id);
    for (const approval of gone.slice(0, DECIDED_MAX)) session.lines([await resolvedLine(client, approval)]);
    if (gone.length > DECIDED_MAX) session.lines([`${String(gone.length - DECIDED_MAX)} more decided`]);
    for (const approval of pending) {
      if (shown.has(approval.id)) continue;
      shown.add(approval.id);
      const full = await inFull(client, approval);
      session.lines(approvalText(full, session.now()));
      const outcome = terminal && mayAnswer(full) ? await askAbout(client, terminal, full) : undefined;
      if (outcome !== undefined) session.lines(outcome.lines);
      if (outcome?.decided !== true) waiting.set(approval.id, approval);
    }
    if (once) return;
    await pause(LOOK_EVERY_MS);
  }
};
