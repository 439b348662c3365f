import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { errorBody } from '@holdpoint/contracts/values/errors';
import type { Answer } from '@holdpoint/runtime/bus/listener';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { expect, test } from 'vitest';
import { startEnrolment } from './enrolment.ts';
import { type OwnKey, takeOwnKey } from './own-key.ts';

const JOINED: Answer = { ok: {} };
const AWAY: Answer = { error: errorBody('RUNTIME_UNAVAILABLE', 'no answer') };
const REFUSED: Answer = { error: errorBody('APPROVALS_JOIN_REFUSED', 'the join secret is wrong') };

const start = async ({
  answer,
  isNamed,
  keep = () => Promise.resolve(),
}: {
  answer: Answer;
  isNamed: boolean;
  keep?: () => Promise<void>;
}) => {
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
    key: { publicKey, privateKey, enrolled: Promise.resolve(), keep },
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

test('the key is stored once it is enrolled, and enrolled again when that fails', async () => {
  let [stored, isFull] = [0, true];
  const keep = async (): Promise<void> => {
    if (isFull) throw new Error('disk full');
    stored += 1;
  };
  const { askedIn, enrolment } = await start({ answer: JOINED, isNamed: true, keep });
  expect([enrolment.isEnrolled(), stored]).toEqual([false, 0]);
  isFull = false;
  await askedIn(1);
  expect([enrolment.isEnrolled(), stored]).toEqual([true, 1]);
});

test('a key is the same at the next start only if it was enrolled', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'holdpoint-own-key-'));
  try {
    const idOf = ({ publicKey }: OwnKey): unknown => publicKey.export({ format: 'jwk' });
    const lost = await takeOwnKey(folder);
    const isKnown = { is: false };
    void lost.enrolled?.then(() => (isKnown.is = true));
    const kept = await takeOwnKey(folder);
    expect(idOf(kept)).not.toEqual(idOf(lost));
    await kept.keep();
    expect(kept.enrolled).toBeInstanceOf(Promise);
    await kept.enrolled;
    const next = await takeOwnKey(folder);
    expect([idOf(next), next.enrolled]).toEqual([idOf(kept), undefined]);
    expect(lost.enrolled).toBeInstanceOf(Promise);
    expect(isKnown.is).toBe(false);
  } finally {
    await rm(folder, { recursive: true });
  }
});
