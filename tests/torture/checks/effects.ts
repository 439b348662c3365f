import type { StoredAggregate } from '../evidence/evidence.ts';
import { type Check, takeNotes } from './check.ts';
import { replayTask, together } from './replay.ts';

const OUTCOMES: ReadonlySet<string> = new Set([
  'applied',
  'failed_clean',
  'in_doubt',
  'not_applied',
  'cancelled',
  'refused',
]);

/** The latest outcome or start in the ledger. */
export const stateOf = (effect: StoredAggregate): string | undefined =>
  effect.events.findLast(({ type }) => OUTCOMES.has(type) || type === 'started' || type === 'prepared')?.type;

export const applications: Check = {
  id: 'K3',
  promise: 'an effect reaches the target at most once, and only after its start',
  ofTask: (evidence) => replayTask('K3', evidence),
  ofRun: ({ strangeApplications }) => {
    const { expect, finding } = takeNotes();
    expect(
      strangeApplications.length === 0,
      () => `applied under keys of no task: ${strangeApplications.join(', ')}`,
    );
    return finding();
  },
};

export const ledger: Check = {
  id: 'K4',
  promise: 'the ledger states the truth: applied effects arrived as ordered, and all others did not',
  ofTask: (evidence) => {
    const { id, meant, effects, applications: seen } = evidence;
    const { expect, finding } = takeNotes(id);
    for (const effect of effects)
      if (stateOf(effect) === 'applied')
        for (const { digest } of seen.filter(({ key }) => key === effect.id))
          expect(digest === meant.requestDigest, () => `the target got another request for ${effect.id}`);
    return together(replayTask('K4', evidence), finding());
  },
};

export const answered: Check = {
  id: 'K21',
  promise: 'the answer about an effect in doubt is followed once, and repeated orders are prevented',
  ofTask: (evidence) => {
    const { id, approvals, effects } = evidence;
    const { expect, finding } = takeNotes(id);
    for (const { id: effect, events } of effects)
      for (const { data } of events.filter(({ type }) => type === 'answered'))
        expect(
          approvals.some(
            (approval) =>
              approval.id === data['approval'] &&
              approval.events.some(
                (event) => event.type === 'resolved' && event.data['answer'] === data['answer'],
              ),
          ),
          () => `${effect} was answered with ${String(data['answer'])}, and no approval has this answer`,
        );
    return together(replayTask('K21', evidence), finding());
  },
};

export const doubt: Check = {
  id: 'K7',
  promise: 'every start has an outcome or is in doubt, and an opaque effect is not repeated without a person',
  ofTask: (evidence) => replayTask('K7', evidence),
};

export const epochs: Check = {
  id: 'K11',
  promise: 'epochs only rise, and an outcome counts only under the current epoch',
  ofTask: (evidence) => replayTask('K11', evidence),
};
