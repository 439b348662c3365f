import { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { reportCommand } from '@holdpoint/contracts/approval/question';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import { jobOf } from '@holdpoint/contracts/values/ids';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';

/** An operator has to resolve the job. In-doubt effects have their own question, whose answer decides instead. */
export const isStuck = ({ job, verdict, question }: NodeView): boolean =>
  job === 'escalated' &&
  (verdict === undefined ? question === undefined : verdict.class !== 'EFFECT_IN_DOUBT');

export const stuckReason = ({ reason, verdict, error }: NodeView): string => {
  const why = reason ?? verdict?.reason ?? error?.message ?? 'no reason given';
  return verdict === undefined ? why : `${verdict.class}: ${why}`;
};

export const resolveCommand = (job: string): string =>
  `holdpoint recovery resolve ${job} ${StuckAnswer.options.join('|')}`;

/** Commands to resolve a stuck job. */
export const stuckLine = (job: string): string =>
  `${job} is stuck: ${reportCommand(job)}, then ${resolveCommand(job)}`;

export const stuckLines = ({ id, nodes }: Pick<TaskView, 'id' | 'nodes'>): readonly string[] =>
  nodes.filter(isStuck).map((node) => stuckLine(jobOf(id, node.id)));

/** The rule behind the class, with its evidence. */
export const becauseText = ({ rule, evidence }: NonNullable<Verdict['classification']>): string =>
  `${rule}: ${evidence}`;

export const verdictText = ({
  kind,
  class: failure,
  reason,
  rule,
}: Pick<Verdict, 'kind' | 'class' | 'reason' | 'rule'>): string => `${kind}: ${failure}: ${reason} (${rule})`;
