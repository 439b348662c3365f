import { describe, expect, test } from 'vitest';
import type { StreamMark, Watermark } from '../store/bus-watermark.ts';
import { displacementOf, markedBy, startOf } from './consumer-positions.ts';

const AT = '2026-11-23T10:00:00.123456789Z';
const stream = (changes: Partial<StreamMark> = {}): StreamMark => ({
  created: '2026-11-01T00:00:00Z',
  lastSeq: 100,
  lastAt: AT,
  ...changes,
});
const seen: Watermark = { servers: ['A'], streams: { HP_EVT: stream() } };
const NEW: Watermark = { servers: [], streams: {} };
const at = (position: number) => ({ delivered: position, floor: position });
const displaced = (now: Partial<StreamMark>, server = 'A', consumer = at(100), known = seen) =>
  displacementOf(known, server, 'HP_EVT', stream(now), [at(1), consumer]);

describe('consumers keep their positions', () => {
  test('consumers at the end of their stream keep their positions', () => {
    expect(displaced({})).toBeUndefined();
  });

  test('consumers keep their positions while their stream grows', () => {
    expect(displaced({ lastSeq: 5_000 }, 'A', at(4_999))).toBeUndefined();
  });

  test('consumers keep their positions on every server that was seen before', () => {
    const known = markedBy(seen, 'B', seen.streams);
    expect([displaced({}, 'A', at(100), known), displaced({}, 'B', at(100), known)]).toEqual([
      undefined,
      undefined,
    ]);
  });
});

describe('consumers are recreated', () => {
  test.each([
    ['delivered', { delivered: 101, floor: 7 }],
    ['acknowledged', { delivered: 7, floor: 101 }],
  ])('consumers are recreated when one has %s more than the stream has', (_, consumer) => {
    expect(displaced({}, 'A', consumer)).toBe('ahead');
  });

  test('consumers are recreated when their stream was created again', () => {
    expect(displaced({ created: '2026-11-23T10:00:01Z', lastSeq: 900 })).toBe('recreated');
  });

  test('consumers are recreated when the last sequence of their stream went back', () => {
    expect(displaced({ lastSeq: 99 }, 'A', at(50))).toBe('gone_back');
  });

  test('consumers are recreated after a restart, because a stream may have grown beyond its lost tail', () => {
    expect(displaced({ lastSeq: 5_000 }, 'B')).toBe('restarted');
  });

  test('consumers are recreated when the bus was never seen', () => {
    expect(displaced({}, 'A', at(100), NEW)).toBe('restarted');
  });
});

describe('the start of a consumer that is recreated', () => {
  test.each(['ahead', 'gone_back', 'restarted'] as const)(
    'a consumer starts a minute before the last message that was seen (%s)',
    (reason) => {
      expect(startOf(reason, stream())).toEqual({ at: '2026-11-23T09:59:00.123Z' });
    },
  );

  test('a consumer of a recreated stream reads the whole stream', () => {
    expect(startOf('recreated', stream())).toBe('all');
  });

  test('a consumer of a new or empty stream reads the whole stream', () => {
    expect([
      startOf('ahead', undefined),
      startOf('restarted', stream({ lastAt: '0001-01-01T00:00:00Z' })),
    ]).toEqual(['all', 'all']);
  });
});

test('the watermark remembers the latest servers only, each once', () => {
  const ids = Array.from({ length: 40 }, (_each, index) => `s-${String(index % 30)}`);
  const { servers } = ids.reduce((mark, id) => markedBy(mark, id, {}), NEW);
  expect(servers).toEqual([...new Set(ids.toReversed())].slice(0, 16));
});
