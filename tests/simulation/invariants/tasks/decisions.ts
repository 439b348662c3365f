import { canonicalJson } from '@holdpoint/contracts/values/json';
import type { TaskChange } from '../../event-states.ts';
import type { World } from '../../world.ts';

/** The record that a decision leaves in its task, and the reviews that its approvers saw. */
export const checkDecision = (
  { checker, books }: World,
  { aggregate, before, event, after }: TaskChange,
): void => {
  if (before.phase === 'absent' || after.phase === 'absent') return;
  if (event.type === 'review_recorded')
    checker.expect(
      'a review names a verified author',
      !event.review.by.startsWith('unverified:'),
      aggregate,
      () => event.review.by,
    );
  if (event.type === 'approval_requested') {
    const { reviews, artifact } = event.evidence ?? {};
    checker.expect(
      'a request shows the latest reviews and artifact of its task',
      canonicalJson([reviews ?? null, artifact ?? null]) ===
        canonicalJson([before.reviews ?? null, before.artifact ?? null]),
      aggregate,
      () => JSON.stringify({ shown: { reviews, artifact }, had: before.reviews }),
    );
  }
  if (event.type !== 'approval_closed' && event.type !== 'effect_ordered') return;
  if (event.type === 'effect_ordered' && event.granted === undefined) return;
  const resumes = event.type === 'effect_ordered' || event.resumes === true;
  const request = books.approvals.stateOf(event.approval);
  const decided = request.status === 'closed' ? request.decided : undefined;
  const found = after.checkpoints?.at(-1);
  checker.expect(
    'a decision leaves its checkpoint, with the person who made it',
    found?.kind === (resumes ? 'resume_granted' : 'resume_blocked') &&
      found.node === event.node &&
      found.by === decided?.by,
    aggregate,
    () => JSON.stringify({ event, found, decided }),
  );
  checker.expect(
    'only an approved effect is resumed',
    !resumes || decided?.outcome === 'approved',
    aggregate,
    () => JSON.stringify({ event, decided }),
  );
};
