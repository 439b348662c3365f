import { StuckAnswer } from '@holdpoint/contracts/approval/commands';
import { reportCommand } from '@holdpoint/contracts/approval/question';
import type { Verdict } from '@holdpoint/contracts/recovery/verdict';
import { jobOf } from '@holdpoint/contracts/values/ids';
import type { NodeView, TaskView } from '@holdpoint/contracts/task/views';

/**
 * A person has to say what becomes of the job. Where nobody knows whether its effect happened, that is asked instead, and
 * the answer decides.
 */
export const isStuck = ({ job, verdict, question }: NodeView): boolean =>
  job === 'escalated' &&
  (verdict === undefined ? question === undefined : verdict.class !== 'EFFECT_IN_DOUBT');

/** Why a job waits for a person. */
export const stuckReason = ({ reason, verdict, error }: NodeView): string => {
  const why = reason ?? verdict?.reason ?? error?.message ?? 'it has failed';
  return verdict === undefined ? why : `${verdict.class}: ${why}`;
};

export const resolveCommand = (job: string): string =>
  `holdpoint recovery resolve ${job} ${StuckAnswer.options.join('|')}`;

/** Where to go on with a job that is stuck. */
export const stuckLine = (job: string): string =>
  `${job} is stuck: ${reportCommand(job)}, then ${resolveCommand(job)}`;

/** One line for each job that is stuck. */
export const stuckLines = ({ id, nodes }: Pick<TaskView, 'id' | 'nodes'>): readonly string[] =>
  nodes.filter(isStuck).map((node) => stuckLine(jobOf(id, node.id)));

/** Which rule said the class, and what it went by. */
export const becauseText = ({ rule, evidence }: NonNullable<Verdict['because']>): string =>
  `${rule}: ${evidence}`;

/** `retry: VERIFICATION_FAILED: a check has failed (verdicts@2/verification)` */
export const verdictText = ({
  kind,
  class: failure,
  reason,
  rule,
}: Pick<Verdict, 'kind' | 'class' | 'reason' | 'rule'>): string => `${kind}: ${failure}: ${reason} (${rule})`;
