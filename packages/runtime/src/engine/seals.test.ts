import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { HEADERS } from '@holdpoint/contracts/bus/cloudevents';
import { describe, expect, test } from 'vitest';
import type { WireMessage } from './ports.ts';
import {
  createSeals,
  createSealVerifier,
  sealRefusal,
  type SealFinding,
  type SealKey,
  type SealKeys,
  type SealSigner,
} from './seals.ts';

type Pair = { readonly publicKey: KeyObject; readonly signer: SealSigner };
const pair = (kid: string): Pair => {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  return { publicKey, signer: { kid, sign: (text) => sign(null, text, privateKey) } };
};
const [approvals, orchestrator, stranger] = [pair('a-1'), pair('o-1'), pair('s-1')] as const;

const known = new Map<string, SealKey | 'retired' | 'revoked'>();
let learns = false;
const keys: SealKeys = { sealKey: (kid) => known.get(kid) ?? 'unknown', mayLearn: () => learns };
const reset = (): void => {
  learns = false;
  known.clear();
  known.set('a-1', { role: 'approvals', key: approvals.publicKey });
  known.set('o-1', { role: 'orchestrator', key: orchestrator.publicKey });
};
const sealsOf = ({ signer }: Pair) => createSeals(() => signer, keys);

const RESOLVED = 'hp.evt.approval.resolved.a-1';
const messageOn = (subject: string, id = 'm-1', body = '{"ok":true}'): WireMessage => ({
  subject,
  headers: [[HEADERS.id, id]],
  body,
});
const arriving = ({ subject, headers, body }: WireMessage) => ({
  subject,
  data: new TextEncoder().encode(body),
  header: (name: string) => headers.find(([key]) => key === name)?.[1],
});
const codeOf = (finding: SealFinding): string =>
  'error' in finding ? finding.error.code : JSON.stringify(finding);
const check = (message: WireMessage): string => codeOf(sealsOf(stranger).check(arriving(message)));
const sealed = (by: Pair, ...messages: readonly WireMessage[]) => {
  const all = sealsOf(by).seal(messages);
  const [first] = all;
  if (first === undefined) throw new Error('nothing was sealed');
  return { first, all };
};

describe('the seal of a message', () => {
  test('a message that its service has sealed is genuine, and its key is known', () => {
    reset();
    expect(check(sealed(approvals, messageOn(RESOLVED)).first)).toBe('{"key":"a-1"}');
  });

  test('a message on which no service decides gets no seal, and none of the others changes its place', () => {
    reset();
    const informing = messageOn('hp.evt.approval.requested.a-1', 'm-0');
    const { all } = sealed(approvals, informing, messageOn(RESOLVED), informing, messageOn(RESOLVED, 'm-2'));
    expect(all[0]).toBe(informing);
    expect(all.map((message) => check(message))).toEqual([
      'SEAL_MISSING',
      '{"key":"a-1"}',
      'SEAL_MISSING',
      '{"key":"a-1"}',
    ]);
  });

  test('messages on which no service decides cost no signature', () => {
    const signer = { kid: 'a-1', sign: () => expect.unreachable('it signs') };
    const { seal } = createSeals(() => signer, keys);
    expect(seal([messageOn('hp.evt.task.completed.t-1')])).toHaveLength(1);
  });

  test.each<[string, () => WireMessage, string]>([
    ['has no seal', () => messageOn(RESOLVED), 'SEAL_MISSING'],
    [
      'has a seal that cannot be read',
      () => ({
        ...messageOn(RESOLVED),
        headers: [
          [HEADERS.id, 'm-1'],
          [HEADERS.seal, '1.x'],
        ],
      }),
      'SEAL_INVALID',
    ],
    [
      'was changed after it was sealed',
      () => ({ ...sealed(approvals, messageOn(RESOLVED)).first, body: '{"ok":false}' }),
      'SEAL_INVALID',
    ],
    [
      'comes again on another subject',
      () => ({ ...sealed(approvals, messageOn(RESOLVED)).first, subject: 'hp.evt.approval.resolved.a-2' }),
      'SEAL_INVALID',
    ],
    [
      'comes again under another id',
      () => {
        const { first } = sealed(approvals, messageOn(RESOLVED));
        return { ...first, headers: [[HEADERS.id, 'm-2'], ...first.headers.slice(1)] };
      },
      'SEAL_INVALID',
    ],
    [
      'has the seal of another message of its batch',
      () => {
        const { all } = sealed(approvals, messageOn(RESOLVED), messageOn(RESOLVED, 'm-2'));
        return {
          ...messageOn(RESOLVED),
          headers: [[HEADERS.id, 'm-1'], ...(all[1]?.headers.slice(1) ?? [])],
        };
      },
      'SEAL_INVALID',
    ],
    [
      'claims the key of another service',
      () => sealed({ ...stranger, signer: { ...stranger.signer, kid: 'a-1' } }, messageOn(RESOLVED)).first,
      'SEAL_INVALID',
    ],
    ['has an unknown key', () => sealed(stranger, messageOn(RESOLVED)).first, 'SEAL_KEY_UNKNOWN'],
    [
      'comes from a service that may not say it',
      () => sealed(orchestrator, messageOn(RESOLVED)).first,
      'SEAL_SENDER_NOT_ALLOWED',
    ],
    [
      'is on a subject of no service',
      () => sealed(orchestrator, messageOn('hp.cmd.task.resume')).first,
      'SEAL_SENDER_NOT_ALLOWED',
    ],
  ])('a message that %s is refused', (_, make, code) => {
    reset();
    expect(check(make())).toBe(code);
  });

  test('a message with a revoked key is refused, also after its root was verified', () => {
    reset();
    const { check: once } = sealsOf(stranger);
    const { first } = sealed(approvals, messageOn(RESOLVED));
    expect(codeOf(once(arriving(first)))).toBe('{"key":"a-1"}');
    known.set('a-1', 'revoked');
    expect(codeOf(once(arriving(first)))).toBe('SEAL_KEY_REVOKED');
  });

  test('a message with a retired key is ignored, and one with a key that may be learnt waits', () => {
    reset();
    const { first } = sealed(approvals, messageOn(RESOLVED));
    known.set('a-1', 'retired');
    expect(check(first)).toBe('{"ignored":true}');
    known.delete('a-1');
    learns = true;
    expect(check(first)).toBe('{"later":true}');
  });
});

describe('the cost of seals', () => {
  const counting = (size: number) => {
    reset();
    const count = { signed: 0, verified: 0 };
    const signer: SealSigner = {
      kid: 'a-1',
      sign: (text) => {
        count.signed += 1;
        return approvals.signer.sign(text);
      },
    };
    const writer = createSeals(() => signer, keys);
    const reader = createSeals(
      () => signer,
      keys,
      createSealVerifier(() => {
        count.verified += 1;
        return true;
      }),
    );
    const batch = Array.from({ length: size }, (_, i) => messageOn(RESOLVED, `m-${String(i)}`));
    for (const message of writer.seal(batch)) reader.check(arriving(message));
    return count;
  };

  test.each([1, 50, 500])('a batch of %i messages costs one signature and one verification', (size) => {
    expect(counting(size)).toEqual({ signed: 1, verified: 1 });
  });

  test('services of a process verify together, and each of them knows the key by itself', () => {
    reset();
    let verified = 0;
    const verifies = createSealVerifier((_seal, _root, { key }) => {
      verified += 1;
      return key.equals(approvals.publicKey);
    });
    const other: SealKeys = { ...keys, sealKey: () => ({ role: 'approvals', key: stranger.publicKey }) };
    const [one, two, three] = [keys, keys, other].map((known) =>
      createSeals(() => stranger.signer, known, verifies),
    );
    const message = arriving(sealed(approvals, messageOn(RESOLVED)).first);
    expect([one, two, three].map((reader) => reader && codeOf(reader.check(message)))).toEqual([
      '{"key":"a-1"}',
      '{"key":"a-1"}',
      'SEAL_INVALID',
    ]);
    expect(verified).toBe(2);
  });

  test('a forged message does not count as verified because its root was seen', () => {
    reset();
    const { check: twice } = sealsOf(stranger);
    const { first } = sealed(approvals, messageOn(RESOLVED));
    const forged = { ...first, body: '{"ok":false}' };
    expect([1, 2].map(() => codeOf(twice(arriving(forged))))).toEqual(['SEAL_INVALID', 'SEAL_INVALID']);
    expect(codeOf(twice(arriving(first)))).toBe('{"key":"a-1"}');
  });
});

describe('a stored message that is handled again', () => {
  const refusalOf = (message: WireMessage) => sealRefusal(sealsOf(stranger).check, arriving(message))?.code;

  test('a message under a key in use is handled', () => {
    reset();
    expect(refusalOf(sealed(approvals, messageOn(RESOLVED)).first)).toBeUndefined();
  });

  test('a message under a retired key is refused, because its seal is not verified', () => {
    reset();
    const { first } = sealed(orchestrator, messageOn(RESOLVED));
    known.set('o-1', 'retired');
    expect(refusalOf(first)).toBe('SEAL_KEY_RETIRED');
  });

  test('a message waits for a key that may become known', () => {
    reset();
    learns = true;
    expect(refusalOf(sealed(stranger, messageOn(RESOLVED)).first)).toBe('RUNTIME_UNAVAILABLE');
  });

  test('a command of a person needs no seal', () => {
    reset();
    expect(refusalOf(messageOn('hp.in.task.submit'))).toBeUndefined();
    expect(refusalOf(messageOn('hp.cmd.task.submit'))).toBe('SEAL_MISSING');
  });
});
