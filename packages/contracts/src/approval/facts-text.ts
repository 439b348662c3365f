import type { RequestSource } from './identity.ts';
import type { ArtifactLink, OnBehalfOf, Review } from '../workflow/review.ts';
import type { RequestFacts } from './commands.ts';

const CRITERIA_MAX = 20;
const CRITERION_MAX = 1_000;
const GOAL_MAX = 4_000;

/** The beginning of a goal, for a request. */
export const shownGoal = (goal: string): string => goal.slice(0, GOAL_MAX).toWellFormed();

/** The first acceptance criteria, each cut, for messages. Undefined when there are none. */
export const shownCriteria = (criteria: readonly string[]): string[] | undefined =>
  criteria.length === 0
    ? undefined
    : criteria.slice(0, CRITERIA_MAX).map((text) => text.slice(0, CRITERION_MAX).toWellFormed());

export const criteriaText = (criteria: readonly string[] = []): string =>
  criteria.length === 0 ? 'none' : criteria.map((text, index) => `${String(index + 1)}. ${text}`).join('\n');

/** `passed by grace: as agreed https://reviews.example/71`. */
export const reviewText = (review: Review | undefined): string => {
  if (review === undefined) return 'none';
  const { verdict, by, agent, summary, url } = review;
  const author = agent === undefined ? by : `${agent} for ${by}`;
  return `${verdict.replace('_', ' ')} by ${author}: ${summary}${url === undefined ? '' : ` ${url}`}`;
};

export const artifactText = (artifact: ArtifactLink | undefined): string =>
  artifact === undefined ? 'none' : `${artifact.uri} (${artifact.name})`;

/** `t-4k2m/build, attempt 2`. */
export const attemptText = ({ task, node, attempt }: OnBehalfOf): string =>
  `${task}/${node}, attempt ${String(attempt)}`;

/** The facts of a request, each with its name. */
export const factRows = (facts: RequestFacts): readonly (readonly [name: string, text: string])[] => {
  const { acceptanceCriteria, phase, attempt, reviews = {}, artifact, rollbackHint, onBehalfOf } = facts;
  return [
    ...(onBehalfOf === undefined ? [] : [['on behalf of', attemptText(onBehalfOf)] as const]),
    ['phase', `${phase}, attempt ${String(attempt)}`],
    ['acceptance criteria', criteriaText(acceptanceCriteria)],
    ['spec review', reviewText(reviews.spec)],
    ['quality review', reviewText(reviews.quality)],
    ['artifact', artifactText(artifact)],
    ['rollback hint', rollbackHint ?? 'none provided'],
  ];
};

/** State of a program that claims effects: `2 orders`, `waits for an order` or `away`. */
export const claimingText = ({
  isWaiting,
  holds,
}: {
  readonly isWaiting: boolean;
  readonly holds: readonly unknown[];
}): string => {
  if (holds.length > 0) return holds.length === 1 ? '1 order' : `${String(holds.length)} orders`;
  return isWaiting ? 'waits for an order' : 'away';
};

/** From where a request came, such as `10.0.0.7 over HTTP`. */
export const sourceText = ({ via, address }: RequestSource): string =>
  `${address === undefined ? '' : `${address} over `}${via.toUpperCase()}`;
