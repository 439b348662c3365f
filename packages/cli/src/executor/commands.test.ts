import { describe, expect, test } from 'vitest';
import { typeLine } from '../../testing/terminal.ts';

const present = { name: '1c9f', seenAt: 1_764_000_000_000, missing: false, awaited: false };

describe('executors', () => {
  test('executor list shows the state of each executor, and how work is confined', async () => {
    const { out } = await typeLine(['executor', 'list'], {
      'executor.executors': {
        items: [
          present,
          { ...present, name: '2d0a', missing: true },
          { ...present, name: '3e1b', missing: true, awaited: true },
          { ...present, name: '4f2c', forgottenAt: 1, forgottenBy: 'ada', forgottenWhy: 'disk' },
        ],
        work: 'confined; not protected: the network',
      },
      'approvals.executor_list': { items: [] },
    });
    expect(out).toMatch(/1c9f +present/);
    expect(out).toMatch(/2d0a +missing/);
    expect(out).toMatch(/3e1b +effects wait for its journal/);
    expect(out).toMatch(/4f2c +forgotten by ada/);
    expect(out).toContain('work: confined; not protected: the network');
  });

  const reason = 'its disk is broken';
  const forget = (keys: readonly object[]) =>
    typeLine(['executor', 'forget', '2d0a', '--reason', reason], {
      'approvals.executor_list': { items: keys },
      'approvals.executor_forget': {},
      'executor.forget': { ...present, name: '2d0a', forgottenAt: 1, forgottenBy: 'ada' },
    });

  test('executor forget records the reason in the audit log before the executor is forgotten', async () => {
    const { out, calls } = await forget([
      { id: 'x-1', name: '1c9f' },
      { id: 'x-2', name: '2d0a' },
    ]);
    expect(calls).toEqual([
      ['approvals.executor_list', {}],
      ['approvals.executor_forget', { id: 'x-2', reason }],
      ['executor.forget', { name: '2d0a', reason }],
    ]);
    expect(out).toBe('effects no longer wait for the journal of 2d0a\n');
  });

  test('executor forget says that an executor without a key leaves no line in the audit log', async () => {
    const { out, calls } = await forget([]);
    expect(calls.map(([endpoint]) => endpoint)).toEqual(['approvals.executor_list', 'executor.forget']);
    expect(out).toContain('it has no key, so the audit log has no line about it');
  });

  test('executor forget needs a reason', async () => {
    const { code, calls } = await typeLine(['executor', 'forget', '2d0a'], {});
    expect(code).not.toBe(0);
    expect(calls).toEqual([]);
  });
});
