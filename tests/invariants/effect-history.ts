import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { type Committed, type Expect, memoryOf } from './invariant.ts';

/** Their targets recognise a repeat or tolerate it. */
const REPEATABLE: ReadonlySet<string> = new Set(['keyed', 'fenced', 'idempotent']);
const OUTCOMES: ReadonlySet<string> = new Set([
  'applied',
  'failed_clean',
  'in_doubt',
  'not_applied',
  'cancelled',
  'refused',
]);

type Memory = {
  /** The last outcome, `started` or `prepared`. */
  status: string;
  epoch: number;
  hasStarted: boolean;
  /** In doubt, and neither the target nor a person has answered since. */
  mayHaveHappened: boolean;
  /** An answer whose consequence is not stored yet. */
  answer: string | undefined;
  readonly prevented: Set<number>;
};

/** What the ledger of one effect may contain: epochs, outcomes, repeats and answers. */
export const watchEffects = (expect: Expect) => {
  const memory = memoryOf((): Memory => ({
    status: 'absent',
    epoch: 0,
    hasStarted: false,
    mayHaveHappened: false,
    answer: undefined,
    prevented: new Set(),
  }));

  const checkEpoch = (known: Memory, aggregate: string, event: EffectEvent): void => {
    if (!('epoch' in event)) return;
    const { type, task, epoch } = event;
    const detail = (): string =>
      `${type} of ${aggregate} has epoch ${String(epoch)} after ${String(known.epoch)}`;
    if (type === 'started' || type === 'in_doubt') {
      expect('the epoch of an effect only rises', epoch > known.epoch, task, detail);
      known.epoch = epoch;
    } else if (type === 'applied' || type === 'failed_clean')
      expect('an outcome counts only under the current epoch', epoch === known.epoch, task, detail);
    else if (type === 'superseded')
      expect('late evidence carries an earlier epoch', epoch < known.epoch, task, detail);
  };

  const checkStart = (known: Memory, aggregate: string, event: EffectEvent): void => {
    if (event.type !== 'started') return;
    const { effectClass } = event.order.effect;
    expect(
      'an effect starts only while no start is open and none was applied',
      known.status !== 'started' && known.status !== 'applied',
      event.task,
      () => `${aggregate} starts while it is ${known.status}`,
    );
    expect(
      'an effect that may have happened is repeated only where that is harmless or a person wants it',
      REPEATABLE.has(effectClass) || !known.mayHaveHappened,
      event.task,
      () => `${aggregate} is ${effectClass} and starts again while it is in doubt`,
    );
    known.hasStarted = true;
  };

  const checkAnswer = (known: Memory, aggregate: string, event: EffectEvent): void => {
    if (!OUTCOMES.has(event.type) && event.type !== 'started') return;
    const { answer } = known;
    known.answer = undefined;
    if (answer === undefined) return;
    expect(
      'the answer to a question about an effect in doubt decides what follows',
      answer === 'retry' ? event.type !== 'in_doubt' : event.type === answer,
      event.task,
      () => `${aggregate} was answered with ${answer}, and ${event.type} follows`,
    );
  };

  const checkPrevented = (known: Memory, aggregate: string, event: EffectEvent): void => {
    if (event.type !== 'duplicate_prevented') return;
    expect(
      'a prevented repeat follows a start and its outcome',
      known.hasStarted && known.status === event.outcome,
      event.task,
      () => `${aggregate} is ${known.status}, and its repeat was prevented as ${event.outcome}`,
    );
    expect(
      'a repeat is prevented once for each attempt',
      !known.prevented.has(event.attempt),
      event.task,
      () => `${aggregate}, attempt ${String(event.attempt)}`,
    );
    known.prevented.add(event.attempt);
  };

  return {
    ofEffect: ({ aggregate, event }: Pick<Committed<EffectEvent>, 'aggregate' | 'event'>): void => {
      const known = memory(aggregate);
      checkEpoch(known, aggregate, event);
      checkAnswer(known, aggregate, event);
      checkStart(known, aggregate, event);
      checkPrevented(known, aggregate, event);
      if (OUTCOMES.has(event.type) || event.type === 'started' || event.type === 'prepared')
        known.status = event.type;
      if (event.type === 'in_doubt') known.mayHaveHappened = true;
      if (event.type === 'answered') known.answer = event.answer;
      if (event.type === 'answered' || event.type === 'not_applied') known.mayHaveHappened = false;
    },
    /** Once nothing is in progress any more. */
    atEnd: (aggregate: string): void => {
      const { status, answer } = memory(aggregate);
      expect(
        'the answer to a question about an effect in doubt decides what follows',
        answer === undefined,
        aggregate,
        () => `${aggregate} was answered with ${String(answer)}, and nothing follows`,
      );
      expect('every start has an outcome or is in doubt', status !== 'started', aggregate, () => aggregate);
    },
  };
};
