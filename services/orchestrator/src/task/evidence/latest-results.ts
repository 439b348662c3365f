import { type Artifact, artifactLabel, planBranch } from '@holdpoint/contracts/workflow/artifact';
import type { StepContext } from '@holdpoint/contracts/task/step';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import {
  type ArtifactLink,
  type Review,
  type TaskEvidence,
  withReview,
} from '@holdpoint/contracts/workflow/review';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';

/** The end of an attempt, as far as it is a result to show. */
export type AttemptEnd = {
  readonly attempt: number;
  readonly outcome: 'succeeded' | 'failed';
  readonly text?: string | undefined;
  readonly outputs?: JsonObject | undefined;
  readonly context?: StepContext | undefined;
};

const SUMMARY_MAX = 2_000;
const URI_MAX = 2_000;
/** Outputs that name the address of a result. */
const LINKS = ['uri', 'url', 'link'] as const;
const ADDRESS = /^(?:https?|artifact|git|holdpoint):[^\s<>"]+$/;

/** The review that the result of a node is. */
const reviewBy = ({ id, review: kind }: NodeDefinition, end: AttemptEnd): Review | undefined => {
  if (kind === undefined) return undefined;
  const verdict = end.outcome === 'succeeded' ? 'passed' : 'failed';
  const summary = (end.text?.trim() || `node ${id} ${end.outcome}`).slice(0, SUMMARY_MAX).toWellFormed();
  return { kind, verdict, summary, node: id, attempt: end.attempt, by: `node ${id}` };
};

const commitIn = ({ context, outputs }: AttemptEnd): string | undefined => {
  const commit = outputs?.['commit'] ?? context?.commit;
  return typeof commit === 'string' && /^[0-9a-f]{7,64}$/.test(commit) ? commit : undefined;
};

const branchOf = (artifact: Artifact): string | undefined => {
  switch (artifact.type) {
    case 'plan_branch':
    case 'plan_doc':
    case 'plan_commits':
      return planBranch(artifact);
    case 'target_branch':
      return artifact.name;
    default:
      return undefined;
  }
};

/** The latest result of a node with a link: an address in its outputs, else the last artifact that it declares. */
const linkOf = (task: string, node: NodeDefinition, end: AttemptEnd): ArtifactLink | undefined => {
  const { id, produces } = node;
  const at = { node: id, attempt: end.attempt };
  const given = LINKS.map((name) => end.outputs?.[name]).find(
    (value) => typeof value === 'string' && value.length <= URI_MAX && ADDRESS.test(value),
  );
  if (typeof given === 'string') return { kind: 'output', name: id, uri: given, ...at };
  const artifact = produces?.succeeded?.at(-1);
  if (artifact === undefined) return undefined;
  const branch = branchOf(artifact);
  const commit = commitIn(end);
  const uri =
    branch === undefined
      ? `holdpoint://log/${task}/${id}`
      : `git:${branch}${commit === undefined ? '' : `@${commit}`}`;
  return { kind: artifact.type, name: artifactLabel(artifact), uri, ...at };
};

/** Takes over the review and the artifact that the end of an attempt is. */
export const withResult = <State extends TaskEvidence & { readonly id: string }>(
  state: State,
  node: NodeDefinition,
  end: AttemptEnd,
): State => {
  const review = reviewBy(node, end);
  const artifact = end.outcome === 'succeeded' ? linkOf(state.id, node, end) : undefined;
  const reviewed = review === undefined ? state : withReview(state, review);
  return artifact === undefined ? reviewed : { ...reviewed, artifact };
};
