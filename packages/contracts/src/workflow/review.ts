import { z } from 'zod';
import { AgentName } from '../values/agent.ts';
import { NodeId, TaskId } from '../values/ids.ts';

/** `spec`: the right thing was made; `quality`: it was made well. */
export const ReviewKind = z.enum(['spec', 'quality']);
export type ReviewKind = z.infer<typeof ReviewKind>;

export const ReviewVerdict = z.enum(['passed', 'changes_requested', 'failed']);
export type ReviewVerdict = z.infer<typeof ReviewVerdict>;

const attempt = { node: NodeId.optional(), attempt: z.int().min(1).optional() } as const;

/** The fields of a review that its author writes. */
export const ReviewText = z.object({
  kind: ReviewKind,
  verdict: ReviewVerdict,
  summary: z.string().trim().min(1).max(2_000),
  /** The full review: an address with http or https. */
  url: z
    .string()
    .max(2_000)
    .regex(/^https?:\/\/[^\s<>"]+$/, 'an address with http:// or https://')
    .optional(),
});
export type ReviewText = z.infer<typeof ReviewText>;

/** A review of the work of a task. It informs approvers and decides nothing. */
export const Review = ReviewText.extend({
  ...attempt,
  /** A person, or the node whose result is the review. */
  by: z.string().min(1).max(200),
  agent: AgentName.optional(),
});
export type Review = z.infer<typeof Review>;

/** The latest review of each kind. */
export const LatestReviews = z.partialRecord(ReviewKind, Review);
export type LatestReviews = z.infer<typeof LatestReviews>;

/** The latest result of a task with a link. */
export const ArtifactLink = z.object({
  /** `plan_doc`, `target_branch`, …; `output` for a result that names its own address. */
  kind: z.string().min(1).max(256),
  name: z.string().min(1).max(600),
  /** `artifact://<sha256>`, `git:<branch>@<commit>`, `holdpoint://log/<task>/<node>`, or an address on the web. */
  uri: z.string().min(1).max(2_000),
  node: NodeId,
  attempt: z.int().min(1),
});
export type ArtifactLink = z.infer<typeof ArtifactLink>;

/** An attempt at a node of another task. */
export const OnBehalfOf = z.object({ task: TaskId, node: NodeId, attempt: z.int().min(1) });
export type OnBehalfOf = z.infer<typeof OnBehalfOf>;

/** What approvers see of the work behind a request. */
export const TaskEvidence = z.object({
  reviews: LatestReviews.optional(),
  artifact: ArtifactLink.optional(),
});
export type TaskEvidence = z.infer<typeof TaskEvidence>;

/** The latest reviews and artifact of a task; undefined when it has none. */
export const evidenceOf = ({ reviews, artifact }: TaskEvidence): TaskEvidence | undefined =>
  reviews === undefined && artifact === undefined
    ? undefined
    : { ...(reviews && { reviews }), ...(artifact && { artifact }) };

/** Records a review: the latest of its kind counts. */
export const withReview = <State extends TaskEvidence>(state: State, review: Review): State => ({
  ...state,
  reviews: { ...state.reviews, [review.kind]: review },
});
