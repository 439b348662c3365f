import { reportCommand } from '@holdpoint/contracts/approval/question';
import type { JobStatus } from '@holdpoint/contracts/task/status';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';
import { jobOf } from '@holdpoint/contracts/values/ids';
import { QUESTION_LABELS } from '../output/question-labels.ts';
import { isStuck, resolveCommand, stuckReason } from '../recovery/stuck.ts';

/** A job in one of these states continues without a person. */
const CONTINUES: ReadonlySet<JobStatus> = new Set(['running', 'recovering', 'waiting_on_locks']);

/**
 * Whether nothing more happens before a person acts: a job is stuck, in doubt or paused, or the task is. Requests for an
 * approval do not count, because they expire.
 */
export const waitsForPerson = ({ phase, nodes }: Pick<TaskView, 'phase' | 'nodes'>): boolean =>
  (phase === 'paused' || nodes.some(({ job }) => job === 'escalated' || job === 'paused')) &&
  !nodes.some(({ job }) => CONTINUES.has(job));

/** Escalated jobs pause a task as well, but resuming does not help then. */
export const resumeLine = ({
  id,
  phase,
  nodes,
}: Pick<TaskView, 'id' | 'phase' | 'nodes'>): string | undefined => {
  if (nodes.some(({ job }) => job === 'escalated')) return undefined;
  if (phase === 'paused') return `task ${id} is paused: holdpoint task resume ${id}`;
  const paused = nodes.find(({ job }) => job === 'paused');
  return paused && `${jobOf(id, paused.id)} is paused: holdpoint task resume ${jobOf(id, paused.id)}`;
};

const escalatedLine = (job: string, node: NodeView): string => {
  if (isStuck(node))
    return `${job} is stuck: ${stuckReason(node)}: ${reportCommand(job)}, then ${resolveCommand(job)}`;
  const { question, verdict } = node;
  if (question === undefined) return `${job}: ${stuckReason(node)}: holdpoint approval list`;
  return verdict === undefined
    ? `${job} waits for a decision: holdpoint approval answer ${question}`
    : `${job}: ${QUESTION_LABELS.in_doubt} holdpoint approval answer ${question} applied|not_applied|retry`;
};

/** The command for each decision that the task waits for. */
export const personLines = (run: Pick<TaskView, 'id' | 'phase' | 'nodes'>): readonly string[] => {
  const escalated = run.nodes.filter(({ job }) => job === 'escalated');
  const resume = resumeLine(run);
  return [
    ...escalated.map((node) => escalatedLine(jobOf(run.id, node.id), node)),
    ...(resume === undefined ? [] : [resume]),
  ];
};
