import { describe, expect, test } from 'vitest';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import type { WorkRequest, WorkAnswer } from '@holdpoint/contracts/program/work';
import { setImmediate as turn } from 'node:timers/promises';
import { createTimeline, clockOf } from '../../testing/timeline.ts';
import { createSession } from './session.ts';

const LEASE_MS = 30_000;
const unavailable = () => new HoldpointError('RUNTIME_UNAVAILABLE', 'away');
const lost = () => new HoldpointError('ORCHESTRATOR_WORK_LOST', 'the lease is over');

/** A session with a scripted orchestrator. */
const start = () => {
  const timeline = createTimeline();
  const said: string[] = [];
  const reasons: string[] = [];
  let answer: () => WorkAnswer = () => ({ lease: 1, leaseMs: LEASE_MS });
  const session = createSession({
    port: {
      say: ({ request: say }: WorkRequest) => {
        said.push(`${String(timeline.now())} ${say.kind}`);
        return new Promise((resolve) => resolve(answer()));
      },
    },
    clock: clockOf(timeline, () => true),
    task: 't-1' as TaskId,
    lease: 1,
    worker: 'w',
    onLost: ({ message }) => reasons.push(message),
  });
  const passUntil = async (time: number): Promise<void> => {
    await turn();
    for (let next = timeline.nextAt(); next !== undefined && next <= time; next = timeline.nextAt()) {
      timeline.moveTo(next);
      await turn();
    }
    timeline.moveTo(time);
    await turn();
  };
  return {
    session,
    said,
    reasons,
    passUntil,
    answering: (next: () => WorkAnswer) => {
      answer = next;
    },
    refusing: (error: () => Error) => {
      answer = () => {
        throw error();
      };
    },
  };
};

test('a heartbeat renews the lease every third of its time', async () => {
  const { session, said, passUntil } = start();
  expect(await session.claim(false)).toEqual({ claimed: 'held' });
  await passUntil(25_000);
  session.close();
  await passUntil(90_000);
  expect(said).toEqual(['0 claim', '10000 heartbeat', '20000 heartbeat']);
});

test('no record is sent before the lease is granted', async () => {
  const { session, said } = start();
  const recording = session.record({ kind: 'step', key: 'a', output: 1 });
  await turn();
  expect(said).toEqual([]);
  await session.claim(true);
  await recording;
  expect(said).toEqual(['0 claim', '0 record']);
});

test('an unanswered request is repeated with growing delays', async () => {
  const { session, said, passUntil, refusing, answering } = start();
  refusing(unavailable);
  const claiming = session.claim(false);
  await passUntil(1_000);
  answering(() => ({ lease: 1, leaseMs: LEASE_MS }));
  await passUntil(2_000);
  expect(await claiming).toEqual({ claimed: 'held' });
  expect(said).toEqual(['0 claim', '100 claim', '300 claim', '700 claim', '1500 claim']);
});

test('an order with an unanswered claim is left to other workers', async () => {
  const { session, passUntil, refusing, reasons } = start();
  refusing(unavailable);
  const claiming = session.claim(false);
  await passUntil(25_000);
  expect(await claiming).toEqual({ claimed: 'unanswered' });
  expect(reasons).toEqual(['the lease expired: the orchestrator does not answer']);
});

test('a refused claim loses the lease at once', async () => {
  const { session, refusing, said } = start();
  refusing(lost);
  expect(await session.claim(false)).toEqual({ claimed: 'lost' });
  await expect(session.end({ kind: 'returned', reason: 'x' })).rejects.toMatchObject({ why: 'lost' });
  expect(said).toEqual(['0 claim']);
});

describe('a lease that is held', () => {
  test('a refused heartbeat loses the lease', async () => {
    const { session, passUntil, refusing, reasons } = start();
    await session.claim(false);
    refusing(lost);
    await passUntil(10_000);
    expect(reasons).toEqual(['the lease is over']);
  });

  test('a lease is lost when no answer came for its whole time, and not before', async () => {
    const { session, passUntil, refusing, answering, reasons } = start();
    await session.claim(false);
    refusing(unavailable);
    await passUntil(25_000);
    expect(reasons).toEqual([]);
    answering(() => ({ lease: 1, leaseMs: LEASE_MS }));
    await passUntil(29_000);
    refusing(unavailable);
    await passUntil(50_000);
    expect(reasons).toEqual([]);
    await passUntil(60_000);
    expect(reasons).toEqual(['the lease expired: the orchestrator does not answer']);
  });

  test('a refused record does not lose the lease', async () => {
    const { session, refusing, reasons } = start();
    await session.claim(false);
    refusing(() => new HoldpointError('PROGRAM_RECORDS_TOO_LARGE', 'too large'));
    await expect(session.record({ kind: 'step', key: 'a', output: 1 })).rejects.toMatchObject({
      code: 'PROGRAM_RECORDS_TOO_LARGE',
    });
    expect(reasons).toEqual([]);
  });

  test('a poisoned request does not keep the lease alive', async () => {
    const { session, refusing, passUntil, said } = start();
    await session.claim(false);
    refusing(() => new HoldpointError('RUNTIME_POISON', 'it could not be handled'));
    const recording = session.record({ kind: 'step', key: 'a', output: 1 }).catch((error: unknown) => error);
    await passUntil(5_000);
    expect(await recording).toMatchObject({ code: 'RUNTIME_POISON' });
    expect(said.filter((line) => line.endsWith('record'))).toHaveLength(3);
  });
});
