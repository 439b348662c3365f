import { reportCommand } from '@holdpoint/contracts/approval/question';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { type ApprovalId, jobOf } from '@holdpoint/contracts/values/ids';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import { indented } from '../approval/changes.ts';
import { ASKED } from '../output/requester.ts';
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
    .slice(0, LINES_SHOWN);

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
type Asked = { readonly doubt?: ApprovalId } | 'to come' | 'by a program';

const askedAbout = async (client: Client, { question, verdict }: NodeView): Promise<Asked> => {
  if (question === undefined) return verdict?.class === 'EFFECT_IN_DOUBT' ? 'to come' : {};
  const asked = await findApproval(client, question);
  if (asked === undefined) return 'to come';
  if (asked.input !== undefined) return 'by a program';
  return asked.inDoubt === undefined ? {} : { doubt: asked.id };
};

/** Prints once per attempt that the job is stuck, why, and which command resolves it. */
export const createStuckTeller = (
  client: Client,
  { lines, warn }: Pick<Session, 'lines' | 'warn'>,
  json: boolean,
): ((run: TaskView) => Promise<void>) => {
  const told = new Set<string>();

  const tell = async (run: TaskView, node: NodeView, doubt: ApprovalId | undefined): Promise<void> => {
    const job = jobOf(run.id, node.id);
    const how =
      doubt === undefined
        ? `${job} is stuck: ${stuckReason(node)}: ${resolveCommand(job)}`
        : `${job}: ${ASKED.in_doubt} ${stuckReason(node)}: holdpoint approval answer ${doubt} applied|not_applied|retry`;
    if (json) return warn(how);
    lines([[{ text: how, paint: 'waits' }]]);
    if (doubt !== undefined) return;
    const report = await excerpt(client, run, node);
    if (report.length > 0) lines(indented([...report, `… ${reportCommand(job)}`]));
  };

  /** The question arrives later than the verdict, and a job can have several questions. */
  const look = async (run: TaskView, node: NodeView): Promise<void> => {
    const attempt = `${node.id} ${String(node.attempt)}`;
    const key = `${attempt} ${node.question ?? ''}`;
    if (told.has(key)) return;
    const asked = await askedAbout(client, node);
    if (asked === 'to come' || asked === 'by a program') return;
    const again = asked.doubt === undefined && told.has(attempt);
    told.add(key);
    if (asked.doubt === undefined) told.add(attempt);
    if (!again) await tell(run, node, asked.doubt);
  };

  return async (run) => {
    for (const node of run.nodes) if (node.job === 'escalated') await look(run, node);
  };
};
