import { describe, expect, test } from 'vitest';
import { control } from '../../testing/graphs.ts';
import { play } from '../../testing/play.ts';

const gate = (shape: Parameters<typeof control>[1] = {}) =>
  control('gate', { uses: 'control.gate.approval', ...shape });

const approval = { audience: ['operators'], timeoutMs: 60_000 };

describe('an approval gate', () => {
  test('that asks nobody is in the way, and so is what follows it', () => {
    const { statusOf, task } = play([gate(), control('next', { after: ['gate'] })]);
    expect(statusOf('gate', 'next')).toEqual(['blocked', 'blocked']);
    expect(task.phase).toBe('failed');
  });

  test.each([false, 'false', 'no'])('that requires no approval (%j) lets everything through', (required) => {
    expect(play([gate({ args: { required } })]).statusOf('gate')).toEqual(['succeeded']);
  });

  test('that asks somebody waits for them', () => {
    expect(play([gate({ approval })]).statusOf('gate')).toEqual(['awaiting_approval']);
  });

  test('at the beginning lets everything through when the submission says that nobody has to approve', () => {
    const { statusOf } = play([gate({ approval })], { approval: 'none' });
    expect(statusOf('gate')).toEqual(['succeeded']);
  });
});
