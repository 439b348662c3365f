import type { HandOnBus, HandOnMessage } from '@holdpoint/runtime/ownership/hand-on';
import type { Life } from '../process-life.ts';
import type { Timeline } from '../timeline.ts';
import type { Weather } from '../faults/fault-rates.ts';

type Listener = {
  readonly life: Life;
  readonly subject: string;
  readonly hear: (msg: HandOnMessage) => void;
};

/** Requests among the replicas of a service. A request or its answer may be lost, and a frozen owner answers late. */
export type SimulatedHandOns = { readonly of: (life: Life) => HandOnBus };

const ANSWER_WITHIN_MS = 1_500;

export const createHandOnBus = (timeline: Timeline, weather: Weather): SimulatedHandOns => {
  const listeners: Listener[] = [];
  const encoder = new TextEncoder();

  const of = (life: Life): HandOnBus => ({
    request: (subject, body, headers) =>
      new Promise((resolve) => {
        const place = `${life.name} hands on ${body}`;
        const answer = (data: Uint8Array | undefined): void => life.enter(() => resolve(data));
        timeline.in(ANSWER_WITHIN_MS, () => answer(undefined));
        if (weather.strikes('request is lost', place)) return;
        weather.send(place, () => {
          const heard = listeners.filter((each) => each.subject === subject && each.life.isAlive());
          if (heard.length === 0) return answer(undefined);
          const data = encoder.encode(body);
          const header = (name: string) => headers.find(([each]) => each === name)?.[1];
          const respond = (text: string): void => {
            if (weather.strikes('answer is lost', `${place} <`)) return;
            weather.send(`${place} <`, () => answer(encoder.encode(text)));
          };
          for (const { life: other, hear } of heard)
            other.enter(() => hear({ subject, data, header, respond }));
        });
      }),
    listen: (subject, hear) => {
      const entry = { life, subject, hear };
      const stop = (): void => void listeners.splice(listeners.indexOf(entry), 1);
      listeners.push(entry);
      life.atEnd(stop);
      return { stop };
    },
  });
  return { of };
};
