import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createLateAcks } from './late-acks.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const setup = () => {
  const sent: string[] = [];
  const acks = createLateAcks();
  const ack = (name: string): void => acks.send(() => void sent.push(name));
  return { acks, sent, ack, atOnce: (name: string): void => acks.during(() => ack(name)) };
};

test('an acknowledgement after a commit leaves at once, and takes those along that waited', () => {
  const { sent, ack, atOnce } = setup();
  atOnce('a');
  atOnce('b');
  expect(sent).toEqual([]);
  ack('c');
  expect(sent).toEqual(['a', 'b', 'c']);
  ack('d');
  expect(sent).toEqual(['a', 'b', 'c', 'd']);
});

test('an acknowledgement that no other one takes along leaves after 50 ms', () => {
  const { sent, atOnce } = setup();
  for (const name of ['a', 'b']) {
    atOnce(name);
    vi.advanceTimersByTime(49);
    expect(sent).not.toContain(name);
    vi.advanceTimersByTime(1);
    expect(sent).toContain(name);
  }
  expect(sent).toEqual(['a', 'b']);
});

test('a message that cannot be taken leaves the next acknowledgement on time', () => {
  const { acks, sent, ack } = setup();
  expect(() => acks.during(() => expect.fail('unreadable'))).toThrow('unreadable');
  ack('a');
  expect(sent).toEqual(['a']);
});

test('a service that stops sends them', () => {
  const { acks, sent, atOnce } = setup();
  atOnce('a');
  acks.flush();
  expect(sent).toEqual(['a']);
});
