import type { StoredEvent, TaskEvidence } from '../evidence/evidence.ts';
import { type Check, takeNotes } from './check.ts';

type Shown = { readonly by: unknown; readonly outcome: unknown; readonly resumes: boolean };

/** The decision that an event of a task records. */
const shownBy = ({ type, data }: StoredEvent): Shown | undefined => {
  if (type === 'approval_closed')
    return { by: data['by'], outcome: data['outcome'], resumes: data['resumes'] === true };
  const granted = data['granted'] as { readonly by?: unknown } | undefined;
  return type !== 'effect_ordered' || granted === undefined
    ? undefined
    : { by: granted.by, outcome: 'approved', resumes: true };
};

const recorded = ({ id, task, approvals }: TaskEvidence) => {
  const { expect, finding } = takeNotes(id);
  for (const event of task?.events ?? []) {
    const shown = shownBy(event);
    if (shown === undefined) continue;
    const approval = approvals.find((each) => each.id === event.data['approval']);
    const decision = approval?.events.find(({ type }) => type === 'resolved')?.data;
    expect(
      decision?.['by'] === shown.by &&
        decision?.['outcome'] === shown.outcome &&
        (!shown.resumes || shown.outcome === 'approved'),
      () =>
        `${String(event.data['approval'])} is ${String(decision?.['outcome'])} by ${String(decision?.['by'])}, and the task says ${JSON.stringify(shown)}`,
    );
  }
  return finding();
};

export const decisions: Check = {
  id: 'K35',
  promise: 'a task records each decision with the person who made it, and resumes only approved effects',
  ofTask: recorded,
};
