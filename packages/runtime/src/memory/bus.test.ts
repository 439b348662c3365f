import { describe, expect, test } from 'vitest';
import type { WireMessage } from '../engine/ports.ts';
import { createMemoryBus, matches } from './bus.ts';

const message = (subject: string): WireMessage => ({ subject, headers: [], body: '{}' });

describe('a filter', () => {
  test.each([
    ['hp.evt.>', 'hp.evt.task.done.t-1', true],
    ['hp.evt.>', 'hp.evt.task', true],
    ['hp.evt.>', 'hp.evt', false],
    ['hp.evt.>', 'hp.cmd.task', false],
    ['hp.*.task', 'hp.cmd.task', true],
    ['hp.*.task', 'hp.cmd.task.submit', false],
    ['hp.*.task', 'hp.task', false],
    ['hp.cmd.effect.*.default', 'hp.cmd.effect.run.default', true],
    ['hp.cmd.effect.*.default', 'hp.cmd.effect.run.other', false],
    ['hp.cmd', 'hp.cmd', true],
    ['hp.cmd', 'hp.cmd.task', false],
    ['>', 'anything.at.all', true],
  ])('%s matches %s: %s', (filter, subject, expected) => {
    expect(matches(filter, subject)).toBe(expected);
  });
});

describe('the bus in memory', () => {
  const start = async (...subjects: readonly string[]) => {
    const bus = createMemoryBus();
    const got: string[] = [];
    bus.subscribe('a.>', ({ subject }) => got.push(subject));
    await bus.publisher.publish(subjects.map(message));
    return { bus, got };
  };

  test('the bus confirms publishes and delivers on demand', async () => {
    const bus = createMemoryBus();
    expect(await bus.publisher.publish([message('a.1')])).toBe(true);
    const { bus: other, got } = await start('a.1', 'b.1');
    expect(got).toEqual([]);
    expect(other.waiting()).toBe(1);
    expect(other.published.map(({ subject }) => subject)).toEqual(['a.1', 'b.1']);
    expect(other.deliverNext()).toBe(true);
    expect(other.deliverNext()).toBe(false);
    expect(got).toEqual(['a.1']);
  });

  test('the bus delivers in any order', async () => {
    const { bus, got } = await start('a.1', 'a.2', 'a.3');
    bus.deliverNext(2);
    bus.deliverNext(1);
    bus.deliverNext(0);
    expect(got).toEqual(['a.3', 'a.2', 'a.1']);
    expect(bus.deliverNext(5)).toBe(false);
  });

  test('the bus delivers a message repeatedly on demand', async () => {
    const { bus, got } = await start('a.1');
    bus.deliverNext(0, true);
    bus.deliverNext(0, true);
    bus.deliverNext(0);
    expect(got).toEqual(['a.1', 'a.1', 'a.1']);
    expect(bus.waiting()).toBe(0);
  });

  test('the bus delivers to every subscriber', async () => {
    const bus = createMemoryBus();
    const got: string[] = [];
    bus.subscribe('a.*', () => got.push('one'));
    bus.subscribe('>', () => got.push('two'));
    await bus.publisher.publish([message('a.1')]);
    bus.deliverNext();
    bus.deliverNext();
    expect(got).toEqual(['one', 'two']);
  });

  test('a wipe drops all messages in flight', async () => {
    const { bus, got } = await start('a.1', 'a.2');
    bus.wipe();
    expect(bus.deliverNext()).toBe(false);
    expect(got).toEqual([]);
  });
});
