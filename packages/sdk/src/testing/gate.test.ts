import { generateKeyPairSync } from 'node:crypto';
import { rawPublicKeyOf } from '@holdpoint/contracts/approval/signing-keys';
import { checkGrant, keysIn } from '@holdpoint/contracts/effect/check-grant';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { type AnyRemoteEffect, defineEffect, type EffectOptions } from '../remote/define-effect.ts';
import { startClaimant } from '../remote/start-claimant.ts';
import { createTestGate, type TestGateOptions } from './gate.ts';

type Charge = { readonly charge: string };
type Outputs = { readonly refund: string };

/** An effect that counts what it does to the world. */
const refundWith = (more: Partial<EffectOptions<Charge, Outputs>> = {}) => {
  const world: string[] = [];
  const effect = defineEffect<Charge, Outputs>({
    name: 'refund',
    input: z.object({ charge: z.string() }),
    output: z.object({ refund: z.string() }),
    key: ({ charge }) => charge,
    run: ({ charge }) => {
      world.push(charge);
      return { refund: `re_${charge}` };
    },
    ...more,
  });
  return { effect, world };
};

const gateFor = async (effect: AnyRemoteEffect, options?: TestGateOptions) => {
  const gate = createTestGate(options);
  const { connection } = gate;
  const claimant = startClaimant({ connection, effects: [effect], signals: false, log: () => undefined });
  onTestFinished(() => claimant.stop());
  await claimant.ready;
  return gate;
};

test('arguments that do not fit the registered schema are refused before anybody is asked', async () => {
  const { effect } = refundWith();
  const { connection, effects } = await gateFor(effect, { decide: () => expect.fail('nothing to decide') });
  for (const args of [{}, { charge: 7 }, { charge: 'ch_1', cents: 5 }])
    await expect(connection.hold({ capability: 'refund', args, key: 'k' })).rejects.toMatchObject({
      code: 'APPROVALS_ARGUMENTS_INVALID',
    });
  expect(effects()).toEqual([]);
});

test('a preview runs before the decision, people see it, and the function gets it', async () => {
  const seen: unknown[] = [];
  const { effect, world } = refundWith({
    preview: ({ charge }) => ({ plan: `refund ${charge}` }),
    run: ({ charge }, { preview }) => {
      seen.push(preview);
      return { refund: charge };
    },
  });
  const gate = await gateFor(effect, {
    decide: (_, preview) => {
      seen.push(preview);
      return 'wait';
    },
  });
  const held = await effect.hold(gate.connection, { charge: 'ch_1' });
  expect((await held.state()).state).toBe('requested');
  await gate.until(held.id, 'waiting');
  expect(gate.preview(held.id)).toEqual({ plan: 'refund ch_1' });
  expect(world).toEqual([]);
  gate.decide(held.id, 'approve');
  expect(await held.wait()).toEqual({ refund: 'ch_1' });
  expect(seen).toEqual([{ plan: 'refund ch_1' }, { plan: 'refund ch_1' }]);
});

test('a preview that fails ends the effect before anybody is asked', async () => {
  const { effect, world } = refundWith({ preview: () => Promise.reject(new Error('no such charge')) });
  const gate = await gateFor(effect, { decide: () => expect.fail('nothing to decide') });
  const held = await effect.hold(gate.connection, { charge: 'ch_1' });
  await expect(held.wait()).rejects.toMatchObject({ code: 'REMOTE_PREVIEW_FAILED' });
  expect(world).toEqual([]);
});

test.each([
  ['keyed', 'before', 'applied', 1],
  ['keyed', 'after', 'applied', 2],
  ['probeable', 'before', 'applied', 1],
  ['probeable', 'after', 'applied', 1],
  ['opaque', 'before', 'in_doubt', 0],
  ['opaque', 'after', 'in_doubt', 1],
] as const)(
  'a claimant of a %s effect that dies %s its function leaves it %s after %i runs',
  async (effectClass, at, state, runs) => {
    const { effect, world } = refundWith({
      effectClass,
      probe: ({ charge }) =>
        world.includes(charge)
          ? { found: 'applied', outputs: { refund: `re_${charge}` } }
          : { found: 'not_applied' },
    });
    const gate = await gateFor(effect);
    gate.kill(at);
    const held = await effect.hold(gate.connection, { charge: 'ch_1' });
    const { outputs } = await gate.until(held.id, state);
    expect(world).toHaveLength(runs);
    expect(outputs).toEqual(state === 'applied' ? { refund: 're_ch_1' } : undefined);
  },
);

test('a kill of one key spares the other effects', async () => {
  const { effect, world } = refundWith();
  const gate = await gateFor(effect);
  gate.kill('after', 'ch_2');
  const first = await effect.hold(gate.connection, { charge: 'ch_1' });
  expect(await first.wait()).toEqual({ refund: 're_ch_1' });
  const second = await effect.hold(gate.connection, { charge: 'ch_2' });
  await expect(second.wait()).rejects.toMatchObject({ name: 'EffectInDoubt' });
  expect(world).toEqual(['ch_1', 'ch_2']);
});

test('after the answer retry of a person, an effect in doubt runs again', async () => {
  const { effect, world } = refundWith();
  const gate = await gateFor(effect);
  gate.kill('before');
  const held = await effect.hold(gate.connection, { charge: 'ch_1' });
  await gate.until(held.id, 'in_doubt');
  gate.answer(held.id, 'retry');
  expect(await held.wait()).toEqual({ refund: 're_ch_1' });
  expect(world).toEqual(['ch_1']);
  expect(() => gate.answer(held.id, 'retry')).toThrow(expect.objectContaining({ code: 'APPROVALS_UNKNOWN' }));
});

test('the answer retry is signed: it stands in for a grant that has expired', async () => {
  let time = 1_800_000_000_000;
  const { effect } = refundWith();
  const gate = createTestGate({ now: () => time });
  const { connection } = gate;
  await connection.register(effect.definition);
  const held = await effect.hold(connection, { charge: 'ch_1' });
  const x = rawPublicKeyOf(generateKeyPairSync('ed25519').publicKey);
  const claim = () => connection.claim({ claim: 'c'.repeat(16), claimant: 'test', x, uses: [effect.uses] });
  gate.kill('before');
  expect(await claim()).toEqual({ items: [] });
  await gate.until(held.id, 'in_doubt');
  time += 2 * 3_600_000;
  gate.answer(held.id, 'retry');
  const [item] = (await claim()).items;
  if (item === undefined) throw new Error('the effect was not ordered again');
  const keys = keysIn(await connection.keys());
  const { statement, ...withoutAnswer } = item;
  expect(statement).toBeDefined();
  expect(checkGrant(item, keys, time)).toBeUndefined();
  expect(checkGrant(withoutAnswer, keys, time)).toMatchObject({ code: 'EXECUTOR_GRANT_EXPIRED' });
});

test('an undo is an effect of its own: the compensation gets arguments and outputs', async () => {
  const undone: unknown[] = [];
  const { effect } = refundWith({
    compensate: ({ args, outputs }) => {
      undone.push({ args, outputs });
      return { reverted: true };
    },
  });
  const gate = await gateFor(effect, { decide: ({ key }) => (key.startsWith('undo:') ? 'wait' : 'approve') });
  const held = await effect.hold(gate.connection, { charge: 'ch_1' });
  await held.wait();
  const undo = gate.undo(held.id);
  expect(gate.undo(held.id)).toBe(undo);
  expect(undone).toEqual([]);
  gate.decide(undo, 'approve');
  expect(await gate.until(undo, 'applied')).toMatchObject({ outputs: { reverted: true } });
  expect(undone).toEqual([{ args: { charge: 'ch_1' }, outputs: { refund: 're_ch_1' } }]);
});

test('a cancellation before the decision ends the effect, and nothing runs', async () => {
  const { effect, world } = refundWith();
  const gate = await gateFor(effect, { decide: () => 'wait' });
  const held = await effect.hold(gate.connection, { charge: 'ch_1' });
  await held.cancel();
  await expect(held.wait()).rejects.toMatchObject({ name: 'EffectCancelled' });
  expect(() => gate.decide(held.id, 'approve')).toThrow('the effect is cancelled, not waiting');
  expect(world).toEqual([]);
});
