import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Place } from '../domain/effect.ts';
import { createPlaces } from './places.ts';

const USES = 'cap.file.append';

describe('places', () => {
  test('are as many as there are, each with a slot of its own', () => {
    const places = createPlaces('worker-1', 2);
    const [one, two] = [places.take(USES), places.take(USES)];
    expect(one).toMatchObject({ worker: 'worker-1' });
    expect(one?.slot).not.toBe(two?.slot);
    expect(places.take(USES)).toBeUndefined();
    expect(places.inUse()).toBe(2);
  });

  test('that are given back can be taken again, under another slot', () => {
    const places = createPlaces('worker-1', 1);
    const first = places.take(USES);
    places.free(first?.slot ?? 0);
    expect(places.inUse()).toBe(0);
    const second = places.take(USES);
    expect(second).toBeDefined();
    expect(second?.slot).not.toBe(first?.slot);
  });

  test('that are given back twice are one place', () => {
    const places = createPlaces('worker-1', 2);
    const [one] = [places.take(USES), places.take(USES)];
    places.free(one?.slot ?? 0);
    places.free(one?.slot ?? 0);
    places.free(99);
    expect(places.inUse()).toBe(1);
  });
});

describe('whoever waits for a place', () => {
  test('has it at once where there is one', () => {
    const got: Place[] = [];
    createPlaces('worker-1', 1).wait(USES, (place) => got.push(place));
    expect(got).toHaveLength(1);
  });

  test('has it when one is given back, the longest waiting first', () => {
    const places = createPlaces('worker-1', 1);
    const first = places.take(USES);
    const got: string[] = [];
    places.wait(USES, () => got.push('one'));
    places.wait(USES, () => got.push('two'));
    expect(got).toEqual([]);
    places.free(first?.slot ?? 0);
    expect(got).toEqual(['one']);
    expect(places.inUse()).toBe(1);
  });

  test('and gives it back unused hands it on to the next', () => {
    const places = createPlaces('worker-1', 1);
    const first = places.take(USES);
    const got: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      places.wait(USES, ({ slot }) => {
        got.push(name);
        places.free(slot);
      });
    }
    places.free(first?.slot ?? 0);
    expect(got).toEqual(['one', 'two', 'three']);
    expect(places.inUse()).toBe(0);
  });
});

test('whatever is taken, waited for and given back, there are never more in use than there are, and nobody waits beside a free one', () => {
  const acts = fc.array(fc.constantFrom('take', 'wait', 'free'), { maxLength: 40 });
  fc.assert(
    fc.property(acts, fc.integer({ min: 1, max: 4 }), (sequence, count) => {
      const places = createPlaces('worker-1', count);
      const held: number[] = [];
      let waiting = 0;
      for (const act of sequence) {
        if (act === 'free') places.free(held.shift() ?? 0);
        else if (act === 'take') held.push(...[places.take(USES)?.slot ?? []].flat());
        else {
          waiting += 1;
          places.wait(USES, ({ slot }) => {
            waiting -= 1;
            held.push(slot);
          });
        }
        expect(places.inUse()).toBe(held.length);
        expect(held.length).toBeLessThanOrEqual(count);
        expect(waiting === 0 || held.length === count).toBe(true);
      }
    }),
  );
});

test('places that are closed are given to nobody, until they are opened: then to whoever has waited longest', () => {
  const places = createPlaces('worker-1', 2);
  const running = places.take(USES);
  places.close();
  expect(places.areOpen()).toBe(false);
  expect(places.take(USES)).toBeUndefined();
  const given: string[] = [];
  for (const name of ['a', 'b', 'c']) places.wait(USES, () => void given.push(name));
  places.free(running?.slot ?? 0);
  expect(given).toEqual([]);
  places.open();
  expect(places.areOpen()).toBe(true);
  expect(given).toEqual(['a', 'b']);
  expect(places.inUse()).toBe(2);
});

test('what starts programs has places of its own: neither waits for the other', () => {
  const isCommand = (uses: string): boolean => uses === 'cap.agent.invoke';
  const places = createPlaces('worker-1', 1, { count: 1, isCommand });
  const agent = places.take('cap.agent.invoke');
  expect(places.take('cap.agent.invoke')).toBeUndefined();
  expect(places.take(USES)).toBeDefined();
  const given: string[] = [];
  places.wait(USES, () => void given.push('append'));
  places.wait('cap.agent.invoke', () => void given.push('agent'));
  places.free(agent?.slot ?? 0);
  expect(given).toEqual(['agent']);
  expect(places.inUse()).toBe(2);
});
