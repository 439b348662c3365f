import { describe, expect, test } from 'vitest';
import { typeLine } from '../../testing/terminal.ts';

const TARGET = 'https://api.example';
const open = {
  id: 'o-1',
  target: TARGET,
  state: 'open',
  reason: '5 of 6 requests failed',
  by: 'executor-1',
  until: 1_764_000_030_000,
};

describe('circuits', () => {
  test('circuit list shows every page, with end time and reason', async () => {
    const { out, calls } = await typeLine(['circuit', 'list'], {
      'recovery.circuits': { items: [open] },
    });
    expect(calls).toEqual([['recovery.circuits', { limit: 500 }]]);
    expect(out).toContain(TARGET);
    expect(out).toContain('until 2025-11-24T16:00:30.000Z');
    expect(out).toContain('executor-1: 5 of 6 requests failed');
  });

  test('circuits of workflows are listed and closed like those of targets', async () => {
    const circuit = {
      id: 'o-2',
      target: 'workflow:release',
      state: 'open',
      by: 'recovery',
      reason: '5 given up',
    };
    const listed = await typeLine(['circuits', 'list'], { 'recovery.circuits': { items: [circuit] } });
    expect(listed.out).toContain('workflow:release  open   until you close it  recovery: 5 given up\n');
    const closed = await typeLine(['circuit', 'close', 'workflow:release'], {
      'recovery.circuit': { ...circuit, state: 'closed' },
    });
    expect(closed.calls).toEqual([['recovery.circuit', { target: 'workflow:release', state: 'closed' }]]);
    expect(closed.out).toBe('workflow:release is closed\n');
  });

  test('circuit list without circuits says so', async () => {
    const { out } = await typeLine(['circuit', 'list'], { 'recovery.circuits': { items: [] } });
    expect(out).toBe('no circuits: no target has failed\n');
  });

  test.each([
    ['open', 'open', ['--reason', 'they move tonight'], { reason: 'they move tonight' }],
    ['close', 'closed', [], {}],
  ])('circuit %s sets the state', async (verb, state, options, said) => {
    const { out, calls } = await typeLine(['circuit', verb, TARGET, ...options], {
      'recovery.circuit': { ...open, state },
    });
    expect(calls).toMatchObject([['recovery.circuit', { target: TARGET, state, ...said }]]);
    expect(out).toBe(`${TARGET} is ${state}\n`);
  });
});
