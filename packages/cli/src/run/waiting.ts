import type { ApprovalView } from '@holdpoint/contracts/approval/views';
import type { ApprovalId } from '@holdpoint/contracts/values/ids';
import { mayDecideNow } from '@holdpoint/contracts/approval/question';
import type { ApiResponse } from '@holdpoint/contracts/catalog/api';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { jobOf } from '@holdpoint/contracts/values/ids';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import { setTimeout as pause } from 'node:timers/promises';
import { indented } from '../approval/changes.ts';
import type { Ask } from '../approval/input-prompt.ts';
import { askFor } from '../approval/prompt.ts';
import { approvalText } from '../approval/text.ts';
import type { Client } from '../bus/client.ts';
import { answerLine, decideOn } from '../approval/decisions.ts';
import { findApproval, waitsFor } from '../job/approval.ts';
import { resumeLine, waitsForPerson } from '../job/person.ts';
import type { Session } from '../kit/session.ts';
import { createStuckNotices } from './stuck-notices.ts';
import type { Terminal } from '../kit/environment.ts';

const LOOK_EVERY_MS = 2_000;

/** Hint for a task that is paused or waits for a circuit. */
const hintOf = (run: TaskView): string | undefined => {
  const { id, phase, circuit = 'a failing target' } = run;
  return phase === 'circuit_open'
    ? `task ${id} waits for ${circuit} and continues automatically; to continue now: holdpoint circuit close <target>`
    : resumeLine(run);
};

/** Resolves when the request was decided elsewhere. */
const decidedElsewhere = async (client: Client, id: ApprovalId, signal: AbortSignal): Promise<void> => {
  while (!signal.aborted) {
    const approval = await findApproval(client, id);
    if (approval !== undefined && approval.status !== 'pending') return;
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
};

/** Asks at the terminal until the request is decided elsewhere. */
const askHere = async <Made>(
  client: Client,
  { ask }: Terminal,
  id: ApprovalId,
  asking: (ask: Ask) => Promise<Made>,
): Promise<Made> => {
  const over = new AbortController();
  const elsewhere = decidedElsewhere(client, id, over.signal).finally(() => over.abort());
  try {
    return await asking((prompt) => ask(prompt, over.signal));
  } finally {
    over.abort();
    await elsewhere;
  }
};

const approve = async (client: Client, approval: ApprovalView): Promise<string> => {
  try {
    return answerLine(await decideOn(client, approval, 'approve'), 'approve');
  } catch (error) {
    // Too late or not entitled: keep following the run.
    if (!(error instanceof HoldpointError)) throw error;
    return `${error.code}: ${error.message}`;
  }
};

/**
 * Prints each pending request once, and asks for a decision if possible. Resolves to true when the run continues only
 * after a person has acted, and every command for that is printed.
 */
export const createPendingNotices = (
  client: Client,
  { lines, warn, terminal, now }: Session,
  json: boolean,
): ((run: TaskView) => Promise<boolean>) => {
  const reported = new Set<string>();
  const here = json || client.canDecide !== true ? undefined : terminal();
  let person: Promise<ApiResponse<'approvals', 'whoami'>> | undefined;

  /** Without a token another surface decides, as anybody entitled. */
  const mayDecide = async (approval: ApprovalView): Promise<boolean> => {
    if (client.canDecide !== true) return true;
    person ??= client.call('approvals', 'whoami', {});
    return mayDecideNow(await person, approval);
  };

  const report = async (node: NodeView, run: TaskView, approval: ApprovalView): Promise<void> => {
    const { id, input } = approval;
    const verb = input === undefined ? 'approve' : 'answer';
    const isMine = await mayDecide(approval);
    const decision = isMine ? 'a decision' : 'the decision of another person';
    const how = `${jobOf(run.id, node.id)} waits for ${decision}: holdpoint approval ${verb} ${id}`;
    if (json) return warn(how);
    lines([[{ text: how, paint: 'waits' }]]);
    if (here === undefined || !isMine) return;
    lines(indented(approvalText(approval, now())));
    if (input !== undefined) {
      const pending = await askHere(client, here, id, (ask) => askFor(client, ask, approval));
      return lines(pending.lines);
    }
    const answer = await askHere(client, here, id, (ask) => ask('Approve it? [y/N] '));
    if (answer !== undefined && /^y(es)?$/i.test(answer.trim())) lines([await approve(client, approval)]);
    else lines([answer === undefined ? '' : 'still pending']);
  };

  const tellStuck = createStuckNotices(client, { lines, warn }, json, reported);

  /** Every escalated job has a pending question that was printed. An answer may have come since. */
  const areAsked = async ({ nodes }: TaskView): Promise<boolean> => {
    for (const { job, question } of nodes) {
      if (job !== 'escalated') continue;
      if (question === undefined || !reported.has(question)) return false;
      if ((await findApproval(client, question))?.status !== 'pending') return false;
    }
    return true;
  };

  return async (run) => {
    const hint = hintOf(run);
    if (hint === undefined) reported.delete('phase');
    else if (!reported.has('phase')) {
      reported.add('phase');
      warn(hint);
    }
    for (const node of run.nodes) {
      // Workflows in TypeScript ask about a failure like about anything else; stuck jobs are reported below.
      const pending = node.job === 'escalated' ? node.question : waitsFor(node);
      if (pending === undefined || reported.has(pending)) continue;
      const approval = await findApproval(client, pending);
      if (approval?.status !== 'pending' || (node.job === 'escalated' && approval.input === undefined))
        continue;
      reported.add(approval.id);
      await report(node, run, approval);
    }
    await tellStuck(run);
    return waitsForPerson(run) && areAsked(run);
  };
};
