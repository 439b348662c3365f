import { effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { InDoubtAnswer } from '@holdpoint/contracts/effect/grant';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { World } from '../simulation/world.ts';
import { answerTo, type Orders } from './orders.ts';
import type { Target } from './target.ts';

const RESENDS_MS = 5_000;
const RESENDS_MAX = 60;
/** By then a frozen process has thawed, and no request is under way. */
const LOOKS_AFTER_MS = 180_000;
const ATTEMPTS_MAX = 2;

const FINAL: ReadonlySet<string> = new Set(['applied', 'not_applied', 'cancelled', 'refused']);

/** The task, which repeats its order until it has an answer, and the person who answers a doubt. */
export const startPeople = (world: World, { approved, forged }: Orders, target: Target) => {
  const { timeline, bus, seals, watchers } = world;
  let sent = 0;
  let attempt = 1;
  let told: string | undefined;
  let latest = 0;
  const asked: number[] = [];

  const send = (command: 'run' | 'resolve', body: object): void => {
    sent += 1;
    const name = `${command}.${String(sent)}`;
    const subject = subjects.effectCommand(command, DEFAULT_POOL);
    bus.publish(name, seals.sealedBy('orchestrator', name, subject, JSON.stringify(body)));
  };

  const order = (wanted: number, times = 1): void => {
    if (told !== undefined || attempt !== wanted || times > RESENDS_MAX) return;
    send('run', { ...approved, attempt });
    timeline.in(RESENDS_MS, () => order(wanted, times + 1));
  };

  /** Honest, and a retry only once: nothing is under way any more. */
  const answer = (epoch: number): InDoubtAnswer => {
    if (target.applied.length > 0) return 'applied';
    return asked.length === 1 && epoch % 4 === 2 ? 'retry' : 'not_applied';
  };

  const resolve = (epoch: number, said: InDoubtAnswer, times = 1): void => {
    if (asked.at(-1) !== epoch || times > RESENDS_MAX) return;
    send('resolve', answerTo(approved, epoch, said));
    timeline.in(RESENDS_MS, () => resolve(epoch, said, times + 1));
  };

  const hear = (event: EffectEvent): void => {
    // What became of a forged order is no answer to the order of the task.
    if ('order' in event && effectDigest(event.order.effect) !== approved.digest) return;
    if ('order' in event && event.order.grant !== approved.grant) return;
    // Events of one effect may overtake each other.
    if ('epoch' in event) {
      if (event.epoch < latest) return;
      latest = event.epoch;
    }
    if (FINAL.has(event.type)) {
      told = event.type;
      // The doubt that it ends has the same epoch, and may be published later.
      latest += 0.5;
      asked.push(0);
    } else if (event.type === 'failed_clean') {
      if (event.attempt !== attempt) return;
      if (attempt === ATTEMPTS_MAX) told = event.type;
      else {
        attempt += 1;
        order(attempt);
      }
    } else if (event.type === 'in_doubt') {
      told = undefined;
      if (event.next !== 'person' || asked.includes(event.epoch)) return;
      asked.push(event.epoch);
      timeline.in(LOOKS_AFTER_MS, () => {
        if (asked.at(-1) === event.epoch) resolve(event.epoch, answer(event.epoch));
      });
    }
  };
  watchers.published.push(({ subject, body }) => {
    if (subject.startsWith('hp.evt.effect.')) hear(JSON.parse(body) as EffectEvent);
  });

  order(attempt);
  // An adversary orders other effects under the same key.
  forged.forEach((each, index) => void timeline.in(10 + index * 7, () => send('run', each)));
  return {
    /** The outcome that the task knows. */
    told: () => told,
    asked: () => asked.filter((epoch) => epoch > 0).length,
  };
};
