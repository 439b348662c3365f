import { generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  isSigned,
  leafOf,
  readSeal,
  rootFrom,
  type Sealable,
  sealAll,
  SEALED_TOGETHER_MAX,
  writeSeal,
} from './seal.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const signWith = (text: Uint8Array): Uint8Array => sign(null, text, privateKey);

/** Whether the message is exactly one that the key sealed. */
const isGenuine = (message: Sealable, header: string): boolean => {
  const seal = readSeal(header);
  const root = seal && rootFrom(leafOf(message), seal);
  return seal !== undefined && root !== undefined && isSigned(publicKey, seal.size, root, seal.signature);
};

const batchOf = (size: number): readonly Sealable[] =>
  Array.from({ length: size }, (_, i) => ({
    subject: `hp.evt.task.completed.t-${String(i)}`,
    id: `task.t-${String(i)}.1`,
    body: `{"n":${String(i)},"text":"grüße"}`,
  }));

describe('seals of a batch', () => {
  test.each([1, 2, 3, 4, 5, 7, 8, 9, 50, 501])('every message of a batch of %i has a valid seal', (size) => {
    const batch = batchOf(size);
    const seals = sealAll(batch, 'k-1', signWith);
    expect(seals).toHaveLength(size);
    expect(batch.every((message, i) => isGenuine(message, seals[i] ?? ''))).toBe(true);
  });

  test('a batch has one signature, and a batch beyond the limit one for each tree', () => {
    let signatures = 0;
    const count = (text: Uint8Array): Uint8Array => {
      signatures += 1;
      return signWith(text);
    };
    sealAll(batchOf(50), 'k-1', count);
    expect(signatures).toBe(1);
    const large = batchOf(SEALED_TOGETHER_MAX + 2);
    const seals = sealAll(large, 'k-1', count);
    expect(signatures).toBe(3);
    expect(
      [0, SEALED_TOGETHER_MAX - 1, SEALED_TOGETHER_MAX, SEALED_TOGETHER_MAX + 1].map((i) =>
        isGenuine(large[i] as Sealable, seals[i] ?? ''),
      ),
    ).toEqual([true, true, true, true]);
  });

  test('no messages have no seals', () => {
    expect(sealAll([], 'k-1', signWith)).toEqual([]);
  });

  test('text and bytes of a body have the same leaf', () => {
    const [message] = batchOf(1) as [Sealable];
    expect(leafOf({ ...message, body: Buffer.from(message.body) })).toEqual(leafOf(message));
  });
});

describe('a changed message', () => {
  const batch = batchOf(11);
  const seals = sealAll(batch, 'k-1', signWith);

  test('a seal does not fit another body, subject or id', () => {
    for (const [i, message] of batch.entries()) {
      const header = seals[i] ?? '';
      expect(isGenuine({ ...message, body: `${String(message.body)} ` }, header)).toBe(false);
      expect(isGenuine({ ...message, subject: 'hp.evt.task.failed.t-1' }, header)).toBe(false);
      expect(isGenuine({ ...message, id: 'task.t-1.2' }, header)).toBe(false);
    }
  });

  test('a seal fits no other message of its batch', () => {
    for (const [i, message] of batch.entries())
      for (const [j, header] of seals.entries()) expect(isGenuine(message, header)).toBe(i === j);
  });

  test('a seal with another index or size is invalid', () => {
    for (const [i, message] of batch.entries()) {
      const seal = readSeal(seals[i] ?? '');
      if (seal === undefined) throw new Error('unreadable');
      for (let index = 0; index < 16; index += 1)
        expect(isGenuine(message, writeSeal({ ...seal, index }))).toBe(index === i);
      for (let size = 1; size < 24; size += 1)
        expect(isGenuine(message, writeSeal({ ...seal, size }))).toBe(size === batch.length);
    }
  });

  test('computed nodes are remembered, and change no root: neither of a genuine seal nor of a changed one', () => {
    const memo = new Map();
    for (let round = 0; round < 2; round += 1)
      for (const message of batch)
        for (const header of seals) {
          const seal = readSeal(header);
          if (seal === undefined) throw new Error('unreadable');
          const leaf = leafOf(message);
          for (const index of [seal.index, seal.index ^ 1])
            for (const size of [seal.size, seal.size + 1]) {
              const claim = { ...seal, index, size };
              expect(rootFrom(leaf, claim, memo)).toEqual(rootFrom(leaf, claim));
            }
        }
    expect(memo.size).toBeGreaterThan(0);
  });

  test('text cannot move between subject, id and body', () => {
    const leaves = [
      { subject: 'hp.a', id: 'b', body: 'c' },
      { subject: 'hp.ab', id: '', body: 'c' },
      { subject: 'hp.a', id: '', body: 'bc' },
    ].map((message) => leafOf(message).toString('hex'));
    expect(new Set(leaves).size).toBe(3);
  });

  test('an inner node is no leaf', () => {
    const [left, right] = batchOf(2).map(leafOf) as [Buffer, Buffer];
    const inner = rootFrom(left, { index: 0, size: 2, path: [right] });
    expect(leafOf({ subject: '', id: '', body: Buffer.concat([left, right]) })).not.toEqual(inner);
  });

  test('every changed character of a seal makes it invalid', () => {
    const message = batch[4] as Sealable;
    const header = seals[4] ?? '';
    expect(isGenuine(message, header)).toBe(true);
    // The key id selects the key; the caller looks it up.
    const from = header.indexOf('.', 2);
    for (let at = 0; at < header.length; at += 1) {
      if (at >= 2 && at < from) continue;
      for (const other of ['A', 'B', '7', '.', '-'].filter((each) => each !== header[at]))
        expect(isGenuine(message, header.slice(0, at) + other + header.slice(at + 1))).toBe(false);
    }
  });

  test('another key has not signed it', () => {
    const other = generateKeyPairSync('ed25519');
    const seal = readSeal(seals[0] ?? '');
    const root = seal && rootFrom(leafOf(batch[0] as Sealable), seal);
    expect(root && isSigned(other.publicKey, seal.size, root, seal.signature)).toBe(false);
  });
});

describe('any text', () => {
  test('any sealed batch is genuine, and no change of one byte is', () => {
    const part = fc.string({ maxLength: 30 }).map((text) => text.replaceAll('\0', '').toWellFormed());
    const message = fc.record({ subject: part, id: part, body: part });
    fc.assert(
      fc.property(
        fc.array(message, { minLength: 1, maxLength: 20 }),
        fc.nat(),
        fc.nat(255),
        (batch, at, bit) => {
          const seals = sealAll(batch, 'k-1', signWith);
          const i = at % batch.length;
          const chosen = batch[i] as Sealable;
          expect(isGenuine(chosen, seals[i] ?? '')).toBe(true);
          const body = Buffer.from(chosen.body as string);
          if (body.length === 0) return;
          const place = at % body.length;
          body[place] = (body[place] ?? 0) ^ (1 << (bit % 8));
          expect(isGenuine({ ...chosen, body }, seals[i] ?? '')).toBe(false);
        },
      ),
      { numRuns: 100 },
    );
  });

  test('no text makes the reader throw, and every seal that it reads is written back unchanged', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ maxLength: 1_000 }),
          fc.stringMatching(/^1\.[a-z]{1,4}\.\d{1,6}\.\d{1,6}\.[A-Za-z0-9_-]{0,90}\.[A-Za-z0-9_-]{86}$/),
        ),
        (text) => {
          const seal = readSeal(text);
          expect(seal === undefined || writeSeal(seal) === text).toBe(true);
        },
      ),
    );
  });
});
