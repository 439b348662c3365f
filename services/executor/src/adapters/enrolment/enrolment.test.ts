import { generateKeyPairSync } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Answer } from '@holdpoint/runtime/bus/listener';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { expect, test } from 'vitest';
import { startEnrolment } from './enrolment.ts';

const JOINED: Answer = { ok: {} };
const AWAY: Answer = { error: errorBody('RUNTIME_UNAVAILABLE', 'no answer') };
const REFUSED: Answer = { error: errorBody('APPROVALS_JOIN_REFUSED', 'the join secret is wrong') };

const start = async ({ answer, isNamed }: { answer: Answer; isNamed: boolean }) => {
  const state = { answer, isNamed, asked: 0 };
  let step = (): void => undefined;
  const soon: (readonly [ms: number, next: () => void])[] = [];
  const clock: Clock = {
    now: () => 0,
    after: (ms, next) => {
      soon.push([ms, next]);
      return () => undefined;
    },
    every: (_, next) => {
      step = next;
      return () => undefined;
    },
  };
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const enrolment = startEnrolment({
    name: 'x1',
    key: { publicKey, privateKey },
    secret: 's'.repeat(32),
    isNamed: () => state.isNamed,
    listener: {
      call: () => {
        state.asked += 1;
        return Promise.resolve(state.answer);
      },
    },
    clock,
    log: silentLogger(),
  });
  await turn();
  /** Requests to join in this many seconds. */
  const askedIn = async (seconds: number): Promise<number> => {
    const before = state.asked;
    for (let i = 0; i < seconds; i += 1) {
      step();
      await turn();
    }
    return state.asked - before;
  };
  return { state, askedIn, enrolment, soon };
};

test('an executor asks again after a moment while nothing answers, until it is enrolled', async () => {
  const { state, enrolment, soon } = await start({ answer: AWAY, isNamed: false });
  expect(soon.map(([ms]) => ms)).toEqual([200]);
  soon[0]?.[1]();
  await turn();
  expect(soon).toHaveLength(2);
  state.answer = JOINED;
  soon[1]?.[1]();
  await turn();
  expect([state.asked, soon.length, enrolment.isEnrolled()]).toEqual([3, 2, true]);
});

test('an executor that approvals refuses does not hurry', async () => {
  const { soon } = await start({ answer: REFUSED, isNamed: false });
  expect(soon).toEqual([]);
});

test.each([
  ['is away', AWAY],
  ['refuses it', REFUSED],
])('an executor asks each second to join while approvals %s', async (_, answer) => {
  const { askedIn, enrolment } = await start({ answer, isNamed: false });
  expect(await askedIn(20)).toBe(20);
  expect(enrolment.isEnrolled()).toBe(false);
});

test('an enrolled executor asks every five minutes while approvals names its key', async () => {
  const { askedIn, enrolment } = await start({ answer: JOINED, isNamed: true });
  expect(enrolment.isEnrolled()).toBe(true);
  expect(await askedIn(600)).toBe(2);
});

test('an enrolled executor joins again within seconds once approvals has lost its key', async () => {
  const { state, askedIn } = await start({ answer: JOINED, isNamed: true });
  await askedIn(7);
  state.isNamed = false;
  expect(await askedIn(5)).toBe(1);
});
