import type { StoredAggregate, StoredEvent } from '../evidence/evidence.ts';
import { type Check, takeNotes } from './check.ts';

const OUTCOMES: ReadonlySet<string> = new Set([
  'applied',
  'failed_clean',
  'in_doubt',
  'not_applied',
  'cancelled',
  'refused',
]);

const numberOf = ({ data }: StoredEvent, name: string): number => Number(data[name] ?? Number.NaN);

const startsOf = ({ events }: StoredAggregate): number =>
  events.filter(({ type }) => type === 'started').length;

/** What the ledger has come to: its last event that is an outcome or a start. */
export const stateOf = (effect: StoredAggregate): string | undefined =>
  effect.events.findLast(({ type }) => OUTCOMES.has(type) || type === 'started' || type === 'prepared')?.type;

export const applications: Check = {
  id: 'K3',
  promise: 'an effect reaches the world at most once, and never without having been started',
  ofTask: ({ id, meant, effects, applications: seen }) => {
    const { expect, finding } = takeNotes(id);
    expect(seen.length <= 1, () => `${meant.effect} was applied ${String(seen.length)} times`);
    const starts = effects.reduce((sum, effect) => sum + startsOf(effect), 0);
    if (seen.length > 0) expect(starts > 0, () => `${meant.effect} was applied, and never started`);
    return finding();
  },
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
  ofTask: ({ id, meant, effects, applications: seen }) => {
    const { expect, finding } = takeNotes(id);
    for (const effect of effects) {
      const own = seen.filter(({ key }) => key === effect.id);
      const state = stateOf(effect);
      for (const event of effect.events.filter(({ type }) => type === 'failed_clean')) {
        const epoch = numberOf(event, 'epoch');
        expect(
          !own.some((each) => each.epoch === epoch),
          () => `start ${String(epoch)} of ${effect.id} failed cleanly in the ledger, and was applied`,
        );
      }
      if (state === 'applied') {
        expect(own.length > 0, () => `${effect.id} is applied in the ledger, and nothing of it arrived`);
        for (const { digest } of own)
          expect(
            digest === meant.requestDigest,
            () => `what arrived of ${effect.id} is not what was ordered`,
          );
      } else if (
        state === 'failed_clean' ||
        state === 'not_applied' ||
        state === 'refused' ||
        state === 'cancelled'
      )
        expect(own.length === 0, () => `${effect.id} is ${state} in the ledger, and was applied`);
    }
    return finding();
  },
};

/** A person has said what became of it, or that it is to be done again. */
const SETTLES: ReadonlySet<string> = new Set(['answered', 'not_applied']);

export const answered: Check = {
  id: 'K21',
  promise: 'what a person says of a doubt is what follows from it, once; what is ordered again is prevented',
  ofTask: ({ id, approvals, effects }) => {
    const { expect, finding } = takeNotes(id);
    for (const { id: effect, events } of effects) {
      const prevented = events.filter(({ type }) => type === 'duplicate_prevented');
      const attempts = new Set(prevented.map((event) => numberOf(event, 'attempt')));
      expect(attempts.size === prevented.length, () => `${effect} was prevented twice in one attempt`);
      events.forEach(({ type, data }, i) => {
        if (type === 'answered') {
          const answer = String(data['answer']);
          const next = events
            .slice(i + 1)
            .find((event) => OUTCOMES.has(event.type) || event.type === 'started');
          const follows = answer === 'retry' ? next?.type !== 'in_doubt' : next?.type === answer;
          expect(follows, () => `${effect} was said to be ${answer}, and is ${String(next?.type)}`);
          expect(
            approvals.some(
              (approval) =>
                approval.id === data['approval'] &&
                approval.events.some(
                  (event) => event.type === 'resolved' && event.data['answer'] === data['answer'],
                ),
            ),
            () => `${effect} was said to be ${answer} by nobody who was asked`,
          );
        }
        if (type === 'duplicate_prevented')
          expect(
            events.slice(0, i).some((event) => event.type === 'started'),
            () => `${effect} was prevented from running twice, and never ran`,
          );
      });
    }
    return finding();
  },
};

export const doubt: Check = {
  id: 'K7',
  promise: 'every start has an outcome or became visible as a doubt; what nobody may repeat is started once',
  ofTask: ({ id, effects, works }) => {
    const { expect, finding } = takeNotes(id);
    for (const effect of [...effects, ...works]) {
      const { events } = effect;
      events.forEach((event, i) => {
        if (event.type !== 'started') return;
        const after = events.slice(i + 1).find(({ type }) => OUTCOMES.has(type) || type === 'started');
        expect(
          after !== undefined && after.type !== 'started',
          () => `start ${String(numberOf(event, 'epoch'))} of ${effect.id} has no outcome and is in no doubt`,
        );
      });
      const order = events.find(({ type }) => type === 'started')?.data['order'] as
        | { effect?: { effectClass?: string } }
        | undefined;
      const afterDoubt = events.findIndex(({ type }) => type === 'in_doubt');
      const settled = events.findIndex(({ type }, i) => i > afterDoubt && SETTLES.has(type));
      const open = events.slice(afterDoubt, settled < 0 ? undefined : settled);
      if (order?.effect?.effectClass === 'opaque' && afterDoubt >= 0)
        expect(
          !open.some(({ type }) => type === 'started'),
          () => `${effect.id} is opaque, and was started again before anybody knew what had become of it`,
        );
    }
    return finding();
  },
};

export const epochs: Check = {
  id: 'K11',
  promise: 'epochs only rise; an outcome counts only under the epoch that is in force',
  ofTask: ({ id, effects, works }) => {
    const { expect, finding } = takeNotes(id);
    for (const { id: effect, events } of [...effects, ...works]) {
      let epoch = 0;
      for (const event of events) {
        const own = numberOf(event, 'epoch');
        const { type, version } = event;
        if (type === 'started' || type === 'in_doubt') {
          expect(
            own > epoch,
            () =>
              `${type} of ${effect} at version ${String(version)} has epoch ${String(own)} after ${String(epoch)}`,
          );
          epoch = own;
        } else if (type === 'applied' || type === 'failed_clean')
          expect(
            own === epoch,
            () => `${effect} is ${type} under epoch ${String(own)} while ${String(epoch)} is in force`,
          );
        else if (type === 'superseded')
          expect(own < epoch, () => `${effect} has evidence of epoch ${String(own)}, which is not over`);
      }
    }
    return finding();
  },
};
