import { reportCommand } from '@holdpoint/contracts/approval/question';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { type ApprovalId, jobOf } from '@holdpoint/contracts/values/ids';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import { indented } from '../approval/changes.ts';
import { withoutMarkdown } from '../output/printable.ts';
import { QUESTION_LABELS } from '../output/question-labels.ts';
import type { Client } from '../bus/client.ts';
import { findApproval } from '../job/approval.ts';
import { resolveCommand, stuckReason } from '../recovery/stuck.ts';
import type { Session } from '../kit/session.ts';

/** Length of the report's summary. */
const LINES_SHOWN = 12;

const beginningOf = (report: string): readonly string[] =>
  report
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .slice(0, LINES_SHOWN)
    .map(withoutMarkdown);

/** The first lines of a job's report; empty without a report. */
const excerpt = async (client: Client, run: TaskView, node: NodeView): Promise<readonly string[]> => {
  try {
    const { report } = await client.call('recovery', 'report', { task: run.id, node: node.id });
    return beginningOf(report);
  } catch (error) {
    // The report is optional.
    if (error instanceof HoldpointError) return [];
    throw error;
  }
};

/** The question about a job, if it has arrived. */
type OpenQuestion = { readonly inDoubt?: ApprovalId } | 'to come' | 'by a workflow';

const findQuestion = async (client: Client, { question, verdict }: NodeView): Promise<OpenQuestion> => {
  if (question === undefined) return verdict?.class === 'EFFECT_IN_DOUBT' ? 'to come' : {};
  const approval = await findApproval(client, question);
  if (approval === undefined) return 'to come';
  if (approval.input !== undefined) return 'by a workflow';
  return approval.inDoubt === undefined ? {} : { inDoubt: approval.id };
};

/** Prints once per attempt that the job is stuck, why, and which command resolves it. */
export const createStuckNotices = (
  client: Client,
  { lines, warn }: Pick<Session, 'lines' | 'warn'>,
  json: boolean,
  /** Receives the ids of the questions whose jobs were reported. */
  asked: Set<string> = new Set(),
): ((run: TaskView) => Promise<void>) => {
  const reported = new Set<string>();

  const report = async (run: TaskView, node: NodeView, inDoubt: ApprovalId | undefined): Promise<void> => {
    const job = jobOf(run.id, node.id);
    const how =
      inDoubt === undefined
        ? `${job} is stuck: ${stuckReason(node)}: ${resolveCommand(job)}`
        : `${job}: ${QUESTION_LABELS.in_doubt} ${stuckReason(node)}: holdpoint approval answer ${inDoubt} applied|not_applied|retry`;
    if (json) return warn(how);
    lines([[{ text: how, paint: 'waits' }]]);
    if (inDoubt !== undefined) return;
    const report = await excerpt(client, run, node);
    if (report.length > 0) lines(indented([...report, `… ${reportCommand(job)}`]));
  };

  /** The question arrives later than the verdict, and a job can have several questions. */
  const check = async (run: TaskView, node: NodeView): Promise<void> => {
    const attempt = `${node.id} ${String(node.attempt)}`;
    const key = `${attempt} ${node.question ?? ''}`;
    if (reported.has(key)) return;
    const question = await findQuestion(client, node);
    if (question === 'to come' || question === 'by a workflow') return;
    const again = question.inDoubt === undefined && reported.has(attempt);
    reported.add(key);
    if (node.question !== undefined) asked.add(node.question);
    if (question.inDoubt === undefined) reported.add(attempt);
    if (!again) await report(run, node, question.inDoubt);
  };

  return async (run) => {
    for (const node of run.nodes) if (node.job === 'escalated') await check(run, node);
  };
};
