import type { ApprovalView, Choice } from '@holdpoint/contracts/approval';
import { HoldpointError } from '@holdpoint/contracts/errors';
import { setTimeout as pause } from 'node:timers/promises';
import { approvalText } from './approval-text.ts';
import type { Client } from './client.ts';
import { decidedText, decideOn } from './decisions.ts';
import type { Session } from './session.ts';
import type { Terminal } from './surroundings.ts';

const LOOK_EVERY_MS = 2_000;
const PAGE = 500;

/** What can be typed, by what is asked; everything else leaves it as it is. */
const KEYS: Readonly<Record<'decision' | 'question', Readonly<Record<string, Choice>>>> = {
  decision: { y: 'approve', yes: 'approve', n: 'reject', no: 'reject' },
  question: {
    a: 'applied',
    applied: 'applied',
    n: 'not_applied',
    not_applied: 'not_applied',
    r: 'retry',
    retry: 'retry',
  },
};
const PROMPTS = {
  decision: 'Approve it? [y: approve, n: reject, other: later] ',
  question: 'Did it happen? [a: applied, n: not applied, r: do it again, other: later] ',
} as const;

const kindOf = ({ doubt }: ApprovalView): keyof typeof KEYS =>
  doubt === undefined ? 'decision' : 'question';

const pendingOf = async (client: Client): Promise<readonly ApprovalView[]> => {
  const items: ApprovalView[] = [];
  let after: string | undefined;
  do {
    const page = await client.call('approvals', 'list', {
      limit: PAGE,
      ...(after !== undefined && { after }),
    });
    items.push(...page.items);
    after = page.next;
  } while (after !== undefined);
  return items;
};

const decide = async (client: Client, approval: ApprovalView, choice: Choice): Promise<readonly string[]> => {
  try {
    const answer = await decideOn(client, approval, choice);
    const what = answer.status === 'answered' ? `answered with ${choice}` : answer.status.replace('_', ' ');
    return decidedText(approval, answer, what);
  } catch (error) {
    // Too late, or not entitled: the next one may still be decided.
    if (!(error instanceof HoldpointError)) throw error;
    return [`${error.code}: ${error.message}`];
  }
};

const ask = async (
  client: Client,
  { ask: put }: Terminal,
  approval: ApprovalView,
): Promise<readonly string[]> => {
  const kind = kindOf(approval);
  const typed = (await put(PROMPTS[kind], new AbortController().signal))?.trim().toLowerCase() ?? '';
  const choice = Object.hasOwn(KEYS[kind], typed) ? KEYS[kind][typed] : undefined;
  return choice === undefined ? ['left as it is'] : decide(client, approval, choice);
};

/** Shows each thing that waits for a decision once, and asks for it where one can be made. */
export const watchApprovals = async (client: Client, session: Session, once: boolean): Promise<void> => {
  const shown = new Set<string>();
  const terminal = client.canDecide === true ? session.terminal() : undefined;
  for (;;) {
    for (const approval of await pendingOf(client)) {
      if (shown.has(approval.id)) continue;
      shown.add(approval.id);
      session.lines(approvalText(approval, session.now()));
      if (terminal !== undefined) session.lines(await ask(client, terminal, approval));
    }
    if (once) return;
    await pause(LOOK_EVERY_MS);
  }
};
