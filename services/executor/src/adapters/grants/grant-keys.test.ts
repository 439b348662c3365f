import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { keyIdOf } from '@holdpoint/contracts/values/jws';
import { type PublishedKeys, signingKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import { createSigner } from '@holdpoint/runtime/service/jws';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type AskForKeys, createGrantKeys, type GrantKeys, parseGrantKeys } from './grant-keys.ts';

type Pair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
const pair = (): Pair => generateKeyPairSync('ed25519');
const pemOf = (...pairs: readonly Pair[]): string =>
  pairs.map(({ publicKey }) => signingKeyOf(publicKey).publicKey).join('');
const signedBy = ({ privateKey }: Pair): string => createSigner(privateKey)({ use: 'grant' });

/** What approvals with these keys answer: each of them vouches for all. */
const answerOf =
  (...pairs: readonly Pair[]) =>
  (nonce: string): PublishedKeys => {
    const keys = pairs.map(({ publicKey }) => signingKeyOf(publicKey));
    const claims = { use: 'keys', keys, nonce, iat: 1 };
    return { keys, statements: pairs.map(({ privateKey }) => createSigner(privateKey)(claims)) };
  };

const createHands = () => {
  let now = 0;
  const steps: (() => void)[] = [];
  const clock: Clock = {
    now: () => now,
    after: () => () => undefined,
    every: (_, step) => {
      steps.push(step);
      return () => undefined;
    },
  };
  return {
    clock,
    pass: async (ms: number): Promise<void> => {
      now += ms;
      for (const step of steps) step();
      await turn();
    },
  };
};

let folder = '';
let path = '';
let keys: GrantKeys;
let hands: ReturnType<typeof createHands>;
const [one, two, three, stranger] = [pair(), pair(), pair(), pair()] as const;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-keys-'));
  path = join(folder, 'grant.pub.pem');
  writeFileSync(path, pemOf(one));
  hands = createHands();
  keys = createGrantKeys({ first: [one.publicKey], path, clock: hands.clock, log: silentLogger() });
});
afterEach(async () => {
  await keys.stop();
  rmSync(folder, { recursive: true });
});

/** Answers, and counts the requests. */
const learn = async (answer: (nonce: string) => PublishedKeys | undefined) => {
  const approvals = { answer, asked: 0 };
  const ask: AskForKeys = (nonce) => {
    approvals.asked += 1;
    return Promise.resolve(approvals.answer(nonce));
  };
  keys.learnFrom(ask);
  await turn();
  return approvals;
};
const isTrusted = (by: Pair): boolean => keys.verify(signedBy(by)) !== undefined;

describe('trusted keys of an executor', () => {
  test('an executor trusts the keys of its file, and keys that one of them vouches for', async () => {
    expect([one, two].map(isTrusted)).toEqual([true, false]);
    await learn(answerOf(one, two));
    expect([one, two, three].map(isTrusted)).toEqual([true, true, false]);
  });

  test('an executor trusts a key that a learnt key vouches for', async () => {
    const approvals = await learn(answerOf(one, two));
    approvals.answer = answerOf(two, three);
    await hands.pass(30_000);
    expect([one, two, three].map(isTrusted)).toEqual([true, true, true]);
  });

  test('an executor drops a key that the others no longer name', async () => {
    const approvals = await learn(answerOf(one, two, three));
    approvals.answer = answerOf(one, three);
    await hands.pass(30_000);
    expect([one, two, three].map(isTrusted)).toEqual([true, false, true]);
  });

  test('an executor keeps its keys while no trusted answer arrives', async () => {
    const approvals = await learn(answerOf(one, two));
    approvals.answer = () => undefined;
    await hands.pass(30_000);
    approvals.answer = answerOf(stranger);
    await hands.pass(30_000);
    expect([one, two, stranger].map(isTrusted)).toEqual([true, true, false]);
  });

  test.each<[string, (nonce: string) => PublishedKeys]>([
    [
      'has an untrusted signature',
      (nonce) => ({ ...answerOf(one, stranger)(nonce), statements: answerOf(stranger)(nonce).statements }),
    ],
    ['answers an earlier request', () => answerOf(one, stranger)('of another time')],
    [
      'was changed after signing',
      (nonce) => {
        const good = answerOf(one)(nonce);
        const [header, , signature] = String(good.statements[0]).split('.');
        const claims = String(answerOf(one, stranger)(nonce).statements[0]).split('.')[1];
        return { ...good, statements: [[header, claims, signature].join('.')] };
      },
    ],
    [
      'has another use',
      (nonce) => ({
        keys: [],
        statements: [
          createSigner(one.privateKey)({
            use: 'audit',
            keys: [signingKeyOf(stranger.publicKey)],
            nonce,
            iat: 1,
          }),
        ],
      }),
    ],
    [
      'names a key by another id',
      (nonce) => {
        const key = { kid: keyIdOf(two.publicKey), publicKey: signingKeyOf(stranger.publicKey).publicKey };
        return {
          keys: [key],
          statements: [createSigner(one.privateKey)({ use: 'keys', keys: [key], nonce, iat: 1 })],
        };
      },
    ],
  ])('an executor accepts no statement that %s', async (_, answer) => {
    await learn(answer);
    expect([one, two, stranger].map(isTrusted)).toEqual([true, false, false]);
  });
});

describe('a token with an unknown key', () => {
  test('a token is deferred until the key was requested for long enough', async () => {
    const approvals = await learn(() => undefined);
    expect(keys.mayLearnKeyOf(signedBy(two))).toBe(true);
    await hands.pass(20_000);
    expect(keys.mayLearnKeyOf(signedBy(two))).toBe(true);
    approvals.answer = answerOf(one);
    await hands.pass(1_000);
    expect(keys.mayLearnKeyOf(signedBy(two))).toBe(false);
  });

  test('a token is deferred until its key is learnt, and is then valid', async () => {
    const approvals = await learn(answerOf(one));
    await hands.pass(1_000);
    expect(keys.mayLearnKeyOf(signedBy(two))).toBe(true);
    approvals.answer = answerOf(one, two);
    await hands.pass(1_000);
    expect([keys.mayLearnKeyOf(signedBy(two)), isTrusted(two)]).toEqual([false, true]);
  });

  test('unknown keys cause at most one request per second', async () => {
    const approvals = await learn(answerOf(one));
    await hands.pass(1_000);
    const before = approvals.asked;
    for (let i = 0; i < 50; i += 1) keys.mayLearnKeyOf(signedBy(pair()));
    await turn();
    expect(approvals.asked).toBe(before);
  });

  test('a token is deferred even if others with its key were refused earlier', async () => {
    await learn(answerOf(one));
    keys.mayLearnKeyOf(signedBy(two));
    await hands.pass(6_000);
    expect(keys.mayLearnKeyOf(signedBy(two))).toBe(false);
    await hands.pass(30_000);
    expect(keys.mayLearnKeyOf(signedBy(two))).toBe(true);
  });

  test('only a token with an unknown key is deferred before the first request', () => {
    expect(keys.mayLearnKeyOf(signedBy(two))).toBe(true);
    expect(keys.mayLearnKeyOf(signedBy(one))).toBe(false);
    expect(keys.mayLearnKeyOf('approved')).toBe(false);
  });
});

test('a key file with other keys than Ed25519 is refused, and not shown in the error', () => {
  expect(() => parseGrantKeys('sesame')).toThrow('HOLDPOINT_GRANT_PUBLIC_KEYS_FILE: no public key in PEM');
  const rsa = createPublicKey(
    generateKeyPairSync('rsa', { modulusLength: 2_048 })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString(),
  );
  expect(() => parseGrantKeys(rsa.export({ type: 'spki', format: 'pem' }).toString())).toThrow(
    'HOLDPOINT_GRANT_PUBLIC_KEYS_FILE: not an Ed25519 key',
  );
});
