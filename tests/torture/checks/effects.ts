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
  promise: 'an effect reaches the world at most once, and never without having been started',
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
  promise:
    'what the ledger calls applied was applied as ordered; what it calls failed, refused or cancelled never was',
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
  promise: 'what a person says of a doubt is what follows from it, once; what is ordered again is prevented',
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
  promise: 'every start has an outcome or became visible as a doubt; what nobody may repeat is started once',
  ofTask: (evidence) => replayTask('K7', evidence),
};

export const epochs: Check = {
  id: 'K11',
  promise: 'epochs only rise; an outcome counts only under the epoch that is in force',
  ofTask: (evidence) => replayTask('K11', evidence),
};
