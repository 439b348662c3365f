import { LogLine } from '@holdpoint/contracts/task/log';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { describe, expect, test } from 'vitest';
import { bareOrderFor, NODE, orderFor, TASK, workOf } from '../../../testing/orders.ts';
import { createLogLines } from './log-lines.ts';

/** A manual clock. */
const handClock = () => {
  let now = 0;
  let steps: { readonly at: number; readonly step: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    after: (ms, step) => {
      const due = { at: now + ms, step };
      steps.push(due);
      return () => void (steps = steps.filter((each) => each !== due));
    },
    every: () => () => undefined,
  };
  const pass = (ms: number): void => {
    now += ms;
    const due = steps.filter(({ at }) => at <= now);
    steps = steps.filter(({ at }) => at > now);
    for (const { step } of due) step();
  };
  return { clock, pass, waiting: () => steps.length };
};

const said = (order = bareOrderFor(), epoch = 1, redact = (line: string) => line) => {
  const { clock, pass, waiting } = handClock();
  const bus = { there: true };
  const heard: LogLine[] = [];
  const linesOf = createLogLines({
    announce: (subject, body) => {
      expect(subject).toBe(subjects.log(TASK, NODE));
      if (bus.there) heard.push(LogLine.parse(JSON.parse(body)));
      return bus.there;
    },
    clock,
    now: () => 1_700_000_000_000,
    redact,
  });
  return {
    lines: linesOf(order, epoch),
    heard,
    texts: () => heard.map(({ line }) => line),
    bus,
    pass,
    waiting,
  };
};

test('a line names its step and its number', () => {
  const { lines, heard } = said(bareOrderFor(workOf(), { attempt: 2 }));
  lines.print('stdout', 'one');
  lines.print('stderr', 'two');
  const about = { attempt: 2, step: 'run', at: 1_700_000_000_000 };
  expect(heard).toEqual([
    { ...about, stream: 'stdout', seq: 1, line: 'one' },
    { ...about, stream: 'stderr', seq: 2, line: 'two' },
  ]);
});

test.each([
  ['2:before.0', 'before.0'],
  ['2:run.3', 'run.3'],
  ['anything', 'anything'],
  ['Anything else', 'run'],
  [`x:${'a'.repeat(65)}`, 'run'],
])('work of the key %s is the step %s', (idempotencyKey, step) => {
  const { lines, heard } = said(bareOrderFor(workOf({ idempotencyKey })));
  lines.print('stdout', '');
  expect(heard[0]?.step).toBe(step);
});

test('an effect with any key is the step "run"', () => {
  const { lines, heard } = said(orderFor());
  lines.print('stdout', '');
  expect(heard[0]?.step).toBe('run');
});

test('lines of a repeat have new numbers', () => {
  const first = said();
  const second = said(bareOrderFor(), 3);
  for (const { lines } of [first, second]) lines.print('stdout', 'again');
  expect(second.heard[0]?.seq).toBeGreaterThan((first.heard[0]?.seq ?? 0) + 1_000_000);
});

test('secrets are removed before a line is cut', () => {
  const { lines, texts } = said(bareOrderFor(), 1, (line) => line.replaceAll('sesame', '*'));
  lines.print('stdout', `${'x'.repeat(8_190)}sesame`);
  expect(texts()[0]).toBe(`${'x'.repeat(8_190)}*`);
});

test.each(['x', 'é', '語', '😀'])('a line of too many %s is cut between characters', (character) => {
  const { lines, texts } = said();
  lines.print('stdout', character.repeat(10_000));
  const [line = ''] = texts();
  expect(Buffer.byteLength(line)).toBeLessThanOrEqual(8_192);
  expect(Buffer.byteLength(line)).toBeGreaterThan(8_180);
  expect(line).toMatch(new RegExp(`^(?:${character})+…$`, 'u'));
});

describe('lines that cannot be published', () => {
  test('lines are counted while the bus is away, and reported when it is back', () => {
    const { lines, texts, bus, heard } = said();
    lines.print('stdout', 'before');
    bus.there = false;
    for (let i = 0; i < 3; i += 1) lines.print('stdout', 'lost');
    bus.there = true;
    lines.print('stdout', 'after');
    expect(texts()).toEqual(['before', '[holdpoint] 3 lines omitted here', 'after']);
    expect(heard.map(({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  test('missing lines are reported even after the last line', () => {
    const { lines, texts, bus, pass, waiting } = said();
    bus.there = false;
    lines.print('stdout', 'lost');
    void lines.end();
    pass(1_000);
    expect(texts()).toEqual([]);
    bus.there = true;
    pass(1_000);
    expect(texts()).toEqual(['[holdpoint] 1 line omitted here']);
    expect(waiting()).toBe(0);
  });

  test('the report of missing lines ends after a minute', () => {
    const { lines, bus, pass, waiting } = said();
    bus.there = false;
    lines.print('stdout', 'lost');
    void lines.end();
    for (let i = 0; i < 60; i += 1) pass(1_000);
    expect(waiting()).toBe(0);
  });

  test('lines that come too fast are omitted until the next second', () => {
    const { lines, texts, pass } = said();
    for (let i = 0; i < 2_500; i += 1) lines.print('stdout', String(i));
    expect(texts()).toHaveLength(2_000);
    pass(1_000);
    lines.print('stdout', 'later');
    expect(texts().slice(2_000)).toEqual(['[holdpoint] 500 lines omitted here', 'later']);
  });

  test('a step ends without a report when nothing was omitted', () => {
    const { lines, texts, waiting } = said();
    lines.print('stdout', 'all');
    void lines.end();
    expect([texts(), waiting()]).toEqual([['all'], 0]);
  });
});
