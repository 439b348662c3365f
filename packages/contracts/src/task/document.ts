import type { LatestReviews, Review, TaskEvidence } from '../workflow/review.ts';
import type { ApprovalStatus } from '../approval/status.ts';
import type { JsonObject } from '../values/json.ts';
import type { LatestApproval } from './views.ts';

/** Stands for a fact that a task does not have, so that texts need no condition. */
export const NONE = 'none';

const TITLE_MAX = 200;

/** A status in the words of gates and of `task_get`: that of a decision is the verb that made it. */
export const statusWord = (status: ApprovalStatus): string =>
  status === 'changes_requested' ? 'request_changes' : status;

const reviewIn = (review: Review | undefined): JsonObject => ({
  latest_verdict: review?.verdict ?? NONE,
  summary: review?.summary ?? '',
  url: review?.url ?? '',
  by: review?.agent ?? review?.by ?? '',
});

export type DocumentedTask = TaskEvidence & {
  readonly id: string;
  readonly goal: string;
  readonly acceptanceCriteria?: readonly string[] | undefined;
  readonly phase: string;
  readonly workflow: string;
  readonly requestedBy: string;
  readonly latestApproval?: Pick<LatestApproval, 'id' | 'status' | 'by' | 'note'> | undefined;
};

const reviewsIn = ({ spec, quality }: LatestReviews = {}): JsonObject => ({
  spec: reviewIn(spec),
  quality: reviewIn(quality),
});

/** A task in the form in which gates and the tool `task_get` name its parts. */
export const documentedTask = (task: DocumentedTask): JsonObject => {
  const { id, goal, acceptanceCriteria = [], phase, workflow, requestedBy } = task;
  const { reviews, artifact, latestApproval: approval } = task;
  return {
    id,
    title: (goal.split('\n', 1)[0] ?? '').slice(0, TITLE_MAX).toWellFormed(),
    goal,
    workflow,
    requested_by: requestedBy,
    acceptance_criteria: [...acceptanceCriteria],
    spec: { goal, acceptance_criteria: [...acceptanceCriteria] },
    phase: { current: phase },
    reviews: reviewsIn(reviews),
    artifacts: {
      primary: {
        latest: { uri: artifact?.uri ?? NONE, kind: artifact?.kind ?? NONE, name: artifact?.name ?? NONE },
      },
    },
    approvals: {
      latest: {
        id: approval?.id ?? '',
        status: approval === undefined ? NONE : statusWord(approval.status),
        resolved_by: approval?.by ?? '',
        note: approval?.note ?? '',
      },
    },
  };
};
