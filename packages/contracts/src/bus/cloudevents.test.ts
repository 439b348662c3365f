import { describe, expect, test } from 'vitest';
import { cloudEventHeaders, HEADERS, traceOf } from './cloudevents.ts';

const TRACE = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const event = { id: 'i', source: 'client', type: 'x', subject: 's', time: 0 } as const;

describe('a traceparent', () => {
  test('a valid traceparent is forwarded', () => {
    expect(traceOf(TRACE)).toBe(TRACE);
    expect(new Map(cloudEventHeaders({ ...event, trace: TRACE })).get(HEADERS.trace)).toBe(TRACE);
  });

  // The trace context is stored with every event and sent with its messages: an invalid one would
  // block them.
  test.each([
    undefined,
    '',
    'trace-1',
    `${TRACE}\nx: y`,
    `${TRACE}\0`,
    TRACE.toUpperCase(),
    'é'.repeat(55),
    TRACE.repeat(20_000),
  ])('that is none (%#) is left out', (trace) => {
    expect(traceOf(trace)).toBeUndefined();
    expect(new Map(cloudEventHeaders({ ...event, trace })).has(HEADERS.trace)).toBe(false);
  });
});
