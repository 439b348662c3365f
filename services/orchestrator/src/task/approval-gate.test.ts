import { describe, expect, test } from 'vitest';
import { control } from '../../testing/graphs.ts';
import { play } from '../../testing/play.ts';

const gate = (shape: Parameters<typeof control>[1] = {}) =>
  control('gate', { uses: 'control.gate.approval', ...shape });

const approval = { audience: ['operators'], timeoutMs: 60_000 };

describe('an approval gate', () => {
  test('an approval gate without an audience blocks itself and its dependents', () => {
    const { statusOf, task } = play([gate(), control('next', { after: ['gate'] })]);
    expect(statusOf('gate', 'next')).toEqual(['blocked', 'blocked']);
    expect(task.phase).toBe('failed');
  });

  test.each([false, 'false', 'no'])('an approval gate with required = %j passes', (required) => {
    expect(play([gate({ args: { required } })]).statusOf('gate')).toEqual(['succeeded']);
  });

  test('an approval gate with an audience waits for it', () => {
    expect(play([gate({ approval })]).statusOf('gate')).toEqual(['awaiting_approval']);
  });

  test('--no-approval lets an entry gate pass', () => {
    const { statusOf } = play([gate({ approval })], { approval: 'none' });
    expect(statusOf('gate')).toEqual(['succeeded']);
  });
});
