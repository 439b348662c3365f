import { createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { keyIdOf } from '@holdpoint/contracts/values/jws';
import { type PublishedKeys, rawPublicKeyOf, signingKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import type { Clock } from '../engine/clock.ts';
import { createSigner } from './jws.ts';
import { silentLogger } from '../observability/log.ts';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type AskForKeys, createTrustedKeys, parseTrust, type TrustedKeys } from './trusted-keys.ts';

type Pair = { readonly publicKey: KeyObject; readonly privateKey: KeyObject };
const pair = (): Pair => generateKeyPairSync('ed25519');
const pemsOf = (...pairs: readonly Pair[]): readonly string[] =>
  pairs.map(({ publicKey }) => signingKeyOf(publicKey).publicKey);
const fileOf = (roots: readonly Pair[], others: object = {}): string =>
  JSON.stringify({ approvals: pemsOf(...roots), ...others });
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
  let soon: { readonly at: number; readonly step: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    after: (ms, step) => {
      soon.push({ at: now + ms, step });
      return () => undefined;
    },
    every: (_, step) => {
      steps.push(step);
      return () => undefined;
    },
  };
  return {
    clock,
    /** Passes a moment without the periodic steps. */
    moment: async (ms: number): Promise<void> => {
      now += ms;
      const due = soon.filter(({ at }) => at <= now);
      soon = soon.filter(({ at }) => at > now);
      for (const { step } of due) step();
      await turn();
    },
    pass: async (ms: number): Promise<void> => {
      now += ms;
      for (const step of steps) step();
      await turn();
    },
  };
};

let folder = '';
let path = '';
let keys: TrustedKeys;
let hands: ReturnType<typeof createHands>;
const [one, two, three, stranger] = [pair(), pair(), pair(), pair()] as const;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdpoint-keys-'));
  path = join(folder, 'trust.json');
  writeFileSync(path, fileOf([one]));
  hands = createHands();
  keys = createTrustedKeys({
    trust: parseTrust(fileOf([one])),
    path,
    clock: hands.clock,
    log: silentLogger(),
  });
});
afterEach(async () => {
  await keys.stop();
  rmSync(folder, { recursive: true });
});

/** Answers, and counts the requests. */
const learn = async (answer: (nonce: string) => PublishedKeys | undefined) => {
  const approvals = { answer, asked: 0 };
  const ask: AskForKeys = async (nonce) => {
    approvals.asked += 1;
    await Promise.resolve();
    return approvals.answer(nonce);
  };
  keys.learnFrom(ask);
  await turn();
  return approvals;
};
const isTrusted = (by: Pair): boolean => keys.verify(signedBy(by)) !== undefined;

describe('trusted keys of an executor', () => {
  test('a service trusts the keys of its file, and keys that one of them vouches for', async () => {
    expect([one, two].map(isTrusted)).toEqual([true, false]);
    await learn(answerOf(one, two));
    expect([one, two, three].map(isTrusted)).toEqual([true, true, false]);
  });

  test('a service trusts a key that a learnt key vouches for', async () => {
    const approvals = await learn(answerOf(one, two));
    approvals.answer = answerOf(two, three);
    await hands.pass(30_000);
    expect([one, two, three].map(isTrusted)).toEqual([true, true, true]);
  });

  test('a service asks again after a moment until approvals has answered once', async () => {
    const approvals = await learn(() => undefined);
    await hands.moment(200);
    expect(approvals.asked).toBe(2);
    approvals.answer = answerOf(one, two);
    await hands.moment(200);
    expect(isTrusted(two)).toBe(true);
    await hands.moment(200);
    expect(approvals.asked).toBe(3);
  });

  test('a service drops a key that the others no longer name', async () => {
    const approvals = await learn(answerOf(one, two, three));
    approvals.answer = answerOf(one, three);
    await hands.pass(30_000);
    expect([one, two, three].map(isTrusted)).toEqual([true, false, true]);
  });

  test('a service keeps its keys while no trusted answer arrives', async () => {
    const approvals = await learn(answerOf(one, two));
    approvals.answer = () => undefined;
    await hands.pass(30_000);
    approvals.answer = answerOf(stranger);
    await hands.pass(30_000);
    expect([one, two, stranger].map(isTrusted)).toEqual([true, true, false]);
  });

  test('a service keeps its keys when a request fails, and asks again', async () => {
    const approvals = await learn(answerOf(one, two));
    approvals.answer = () => {
      throw new Error('the database is away');
    };
    await hands.pass(30_000);
    expect([one, two, three].map(isTrusted)).toEqual([true, true, false]);
    approvals.answer = answerOf(one, three);
    await hands.pass(30_000);
    expect([one, two, three].map(isTrusted)).toEqual([true, false, true]);
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
  ])('a service accepts no statement that %s', async (_, answer) => {
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
    await hands.pass(120_000);
    expect(keys.mayLearnKeyOf(signedBy(two))).toBe(true);
  });

  test('a token that comes again at the longest interval is refused', async () => {
    await learn(answerOf(one));
    await hands.pass(500);
    expect(keys.mayLearnKeyOf(signedBy(two))).toBe(true);
    await hands.pass(30_000);
    expect(keys.mayLearnKeyOf(signedBy(two))).toBe(false);
  });

  test('only a token with an unknown key is deferred before the first request', () => {
    expect(keys.mayLearnKeyOf(signedBy(two))).toBe(true);
    expect(keys.mayLearnKeyOf(signedBy(one))).toBe(false);
    expect(keys.mayLearnKeyOf('approved')).toBe(false);
  });
});

test('a trust file with other keys than Ed25519 is refused, and not shown in the error', () => {
  expect(() => parseTrust('sesame')).toThrow(
    'HOLDPOINT_TRUST_FILE: not JSON with a list of keys for each service',
  );
  const rsa = createPublicKey(
    generateKeyPairSync('rsa', { modulusLength: 2_048 })
      .privateKey.export({ type: 'pkcs8', format: 'pem' })
      .toString(),
  );
  const pem = rsa.export({ type: 'spki', format: 'pem' }).toString();
  expect(() => parseTrust(JSON.stringify({ approvals: [pem] }))).toThrow(
    'HOLDPOINT_TRUST_FILE: not an Ed25519 key',
  );
  expect(() => parseTrust(JSON.stringify({ approvals: [] }))).toThrow('HOLDPOINT_TRUST_FILE: not JSON');
});

describe('keys of seals', () => {
  const kidOf = ({ publicKey }: Pair): string => keyIdOf(publicKey);
  const answerWith =
    (signer: Pair, more: object) =>
    (nonce: string): PublishedKeys => {
      const named = [signingKeyOf(one.publicKey)];
      const claims = { use: 'keys', keys: named, nonce, iat: 1, ...more };
      return { keys: named, statements: [createSigner(signer.privateKey)(claims)] };
    };
  const enrolled = (name: string, by: Pair) => ({ name, x: rawPublicKeyOf(by.publicKey) });
  const roleOf = (by: Pair): string => {
    const found = keys.sealKey(kidOf(by));
    return typeof found === 'string' ? found : found.role;
  };

  test('a key of the trust file has the role under which the file lists it, and signs no tokens', () => {
    const path = join(folder, 'other.json');
    const text = fileOf([one], { orchestrator: pemsOf(two), recovery: pemsOf(three) });
    writeFileSync(path, text);
    const all = createTrustedKeys({ trust: parseTrust(text), path, clock: hands.clock, log: silentLogger() });
    const role = (by: Pair) => all.sealKey(kidOf(by));
    expect([one, two, three].map((by) => role(by))).toMatchObject([
      { role: 'approvals' },
      { role: 'orchestrator' },
      { role: 'recovery' },
    ]);
    expect(role(stranger)).toBe('unknown');
    expect(all.verify(signedBy(two))).toBeUndefined();
    return all.stop();
  });

  test('an executor key counts once a statement of the approvals service names it', async () => {
    expect(keys.mayLearn(kidOf(two))).toBe(true);
    await learn(answerWith(one, { executors: [enrolled('x1', two)] }));
    expect([roleOf(two), isTrusted(two), keys.mayLearn(kidOf(two))]).toEqual(['executor', false, false]);
  });

  test('an executor key that the statement revokes no longer counts', async () => {
    const approvals = await learn(answerWith(one, { executors: [enrolled('x1', two)] }));
    approvals.answer = answerWith(one, { executors: [enrolled('x1', two)], revoked: [kidOf(two)] });
    await hands.pass(30_000);
    expect(roleOf(two)).toBe('revoked');
  });

  test('messages of an executor are deferred while approvals has lost its key, and count again afterwards', async () => {
    const approvals = await learn(answerWith(one, { executors: [enrolled('x1', two)] }));
    approvals.answer = answerWith(one, {});
    for (let i = 0; i < 4; i += 1) {
      await hands.pass(10_000);
      expect([roleOf(two), keys.mayLearn(kidOf(two))]).toEqual(['unknown', true]);
    }
    approvals.answer = answerWith(one, { executors: [enrolled('x1', two)] });
    await hands.pass(30_000);
    expect([roleOf(two), keys.mayLearn(kidOf(two))]).toEqual(['executor', false]);
  });

  test('after a start, messages of an executor whose key approvals has lost are deferred until it joins again', async () => {
    const approvals = await learn(answerWith(one, {}));
    for (let i = 0; i < 4; i += 1) {
      expect([roleOf(two), keys.mayLearn(kidOf(two))]).toEqual(['unknown', true]);
      await hands.pass(10_000);
    }
    approvals.answer = answerWith(one, { executors: [enrolled('x1', two)] });
    expect(keys.mayLearn(kidOf(two))).toBe(true);
    await hands.pass(1_000);
    expect([roleOf(two), keys.mayLearn(kidOf(two))]).toEqual(['executor', false]);
  });

  test('after a start, messages under a key that no executor joins with are refused in the end', async () => {
    await learn(answerWith(one, {}));
    for (let i = 0; i < 3; i += 1) {
      expect(keys.mayLearn(kidOf(two))).toBe(true);
      await hands.pass(15_000);
    }
    expect(keys.mayLearn(kidOf(two))).toBe(false);
    // A new key has the usual time.
    expect(keys.mayLearn(kidOf(three))).toBe(true);
    await hands.pass(5_000);
    expect(keys.mayLearn(kidOf(three))).toBe(false);
  });

  test('messages of an executor whose key approvals lost are refused after ten minutes', async () => {
    const approvals = await learn(answerWith(one, { executors: [enrolled('x1', two)] }));
    approvals.answer = answerWith(one, {});
    await hands.pass(30_000);
    keys.mayLearn(kidOf(two));
    await hands.pass(590_000);
    keys.mayLearn(kidOf(two));
    await hands.pass(10_000);
    expect(keys.mayLearn(kidOf(two))).toBe(false);
  });

  test('a token of a retired key, or of another service, is refused at once and not deferred', async () => {
    await learn(
      answerWith(one, {
        retired: [signingKeyOf(two.publicKey)],
        executors: [enrolled('x1', three)],
      }),
    );
    for (const by of [two, three]) {
      await hands.pass(1_000);
      expect([keys.mayLearnKeyOf(signedBy(by)), isTrusted(by)]).toEqual([false, false]);
    }
    expect(keys.sealKey(kidOf(two))).toBe('retired');
  });

  test('an executor key cannot vouch for another executor', async () => {
    const approvals = await learn(answerWith(one, { executors: [enrolled('x1', two)] }));
    approvals.answer = answerWith(two, { executors: [enrolled('x2', three)] });
    await hands.pass(30_000);
    expect([roleOf(two), roleOf(three)]).toEqual(['executor', 'unknown']);
  });

  test('a statement cannot give the key of a service to an executor', async () => {
    await learn(answerWith(one, { executors: [enrolled('x1', one)] }));
    expect(roleOf(one)).toBe('approvals');
  });
});
