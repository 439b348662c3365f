import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createEventReader } from './sse.ts';

const TEXT =
  ': hb\n\nid: 7\nevent: event\ndata: {"a":1}\n\ndata: two\ndata: lines\n\nevent: reset\n\nid: 9\ndata:x\n\n';
const EVENTS = [
  { type: 'event', data: '{"a":1}', id: '7' },
  { type: 'message', data: 'two\nlines', id: '7' },
  { type: 'message', data: 'x', id: '9' },
];

test('events are parsed the same from any chunks', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: TEXT.length })), fc.boolean(), (cuts, crlf) => {
      const text = crlf ? TEXT.replaceAll('\n', '\r\n') : TEXT;
      const read = createEventReader();
      const places = [0, ...cuts.sort((a, b) => a - b), text.length];
      const events = places.flatMap((to, i) => (i === 0 ? [] : read(text.slice(places[i - 1], to))));
      expect(events).toEqual(EVENTS);
    }),
  );
});

test('an oversized event is refused', () => {
  const read = createEventReader();
  expect(() => {
    for (let i = 0; i < 10; i += 1) read('x'.repeat(1_000_000));
  }).toThrow(RangeError);
});
