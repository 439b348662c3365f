import { generateKeyPairSync } from 'node:crypto';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { type Claim, type ClaimAnswer, signed } from '@holdpoint/contracts/effect/remote';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Clock } from '@holdpoint/runtime/engine/clock';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import { silentLogger } from '@holdpoint/runtime/observability/log';
import { expect, test } from 'vitest';
import { decider, effectOf, NOW, orderFor } from '../../../testing/orders.ts';
import type { EffectState } from '../../effect/state.ts';
import type { ToEffect } from '../runner/runner.ts';
import { CLAIMS_MAX, type Claimants, type ClaimantsParts, createClaimants } from './claimants.ts';

const uses = 'cap.remote.refund';
const pair = generateKeyPairSync('ed25519');
const x = pair.publicKey.export({ format: 'jwk' }).x ?? '';
const orderOf = (key = 'one'): RunEffect =>
  orderFor(effectOf({ uses, target: 'payments', idempotencyKey: key }));

/** A clock that a test moves. */
const handClock = () => {
  let now = 0;
  const due: { readonly at: number; readonly call: () => void }[] = [];
  const clock: Clock = {
    now: () => now,
    every: () => () => undefined,
    after: (ms, call) => {
      const entry = { at: now + ms, call };
      due.push(entry);
      return () => void (due.includes(entry) && due.splice(due.indexOf(entry), 1));
    },
  };
  const pass = (ms: number): void => {
    now += ms;
    for (const entry of due.filter(({ at }) => at <= now)) {
      due.splice(due.indexOf(entry), 1);
      entry.call();
    }
  };
  return { clock, pass };
};

/** Executors on one ledger, which decides at once, or at a later turn. */
const ledger = (atTurn: (decide: () => void) => void = (decide) => decide()) => {
  const states = new Map<string, EffectState>();
  const { clock, pass } = handClock();
  const desks: Claimants[] = [];
  const accept =
    (own: () => Claimants): Engine<ToEffect>['accept'] =>
    (routed, { committed }) =>
      atTurn(() => {
        const before = states.get(routed.aggregate) ?? decider.initial;
        const made = decider.decide(before, routed.refresh?.() ?? routed.message, { now: NOW + clock.now() });
        states.set(
          routed.aggregate,
          made.events.reduce((state, event) => decider.evolve(state, event), before),
        );
        for (const work of made.work) if (work.kind !== 'abort') own().perform(work);
        committed?.(made.answer);
      });
  const executor = (change: Partial<ClaimantsParts> = {}): Claimants => {
    const desk: Claimants = createClaimants(
      { accept: accept(() => desk) },
      {
        self: { worker: 'executor', journal: `journal-${String(desks.length)}` },
        clock,
        now: () => NOW + clock.now(),
        journalStart: () => Promise.resolve(),
        find: ({ claim, limit }) => {
          const all = [...states].map(([id, state]) => ({ id: id as RunEffect['id'], state }));
          const held = all.filter(({ state }) => state.status === 'started' && state.remote?.claim === claim);
          const offered = all.filter(({ state }) => state.status === 'prepared');
          return Promise.resolve({
            held: held.map(({ id }) => id),
            offered: offered.map(({ id }) => id).slice(0, limit),
          });
        },
        claimed: () => Promise.resolve([]),
        announce: (hint) => desks.forEach((each) => each.hear(hint)),
        log: silentLogger(),
        ...change,
      },
    );
    desks.push(desk);
    desk.open();
    return desk;
  };
  const give = (desk: Claimants, order: RunEffect): void =>
    accept(() => desk)(
      {
        kind: 'effect',
        aggregate: order.id,
        message: { kind: 'run', payload: order, slot: desk.take(order) },
      },
      { committed: () => undefined, failed: () => undefined, unavailable: () => undefined },
    );
  return { executor, give, pass, stateOf: ({ id }: RunEffect) => states.get(id)?.status };
};

const who = { principal: 'ada' };
const claimOf = (change: Partial<Claim> = {}): Claim => ({
  claim: 'claim-0000000001',
  claimant: 'refunds',
  x,
  uses: [uses],
  waitMs: 1_000,
  ...change,
});
const keysIn = ({ items }: ClaimAnswer): readonly string[] =>
  items.map(({ order }) => order.effect.idempotencyKey);
/** All questions to the ledger have their answers. */
const settled = () => new Promise((resolve) => void setImmediate(resolve));

test('a waiting claim gets a new order at once, with the rest of its lease', async () => {
  const { executor, give, stateOf } = ledger();
  const desk = executor();
  const answer = desk.claim(claimOf(), who);
  await settled();
  give(desk, orderOf());
  expect(await answer).toMatchObject({ items: [{ kind: 'run', epoch: 1, leaseMs: 30_000 }] });
  expect(stateOf(orderOf())).toBe('started');
});

test('a claim takes as many waiting orders as it may, and the next claim takes the others', async () => {
  const { executor, give } = ledger();
  const desk = executor();
  for (const key of ['a', 'b', 'c']) give(desk, orderOf(key));
  expect(keysIn(await desk.claim(claimOf({ max: 2 }), who))).toEqual(['a', 'b']);
  expect(keysIn(await desk.claim(claimOf({ claim: 'claim-0000000002', max: 2 }), who))).toEqual(['c']);
});

test('a claim without an order is answered at the end of its wait', async () => {
  const { executor, pass } = ledger();
  const desk = executor();
  const answer = desk.claim(claimOf(), who);
  await settled();
  expect(desk.counts().claims).toBe(1);
  pass(1_000);
  expect(await answer).toEqual({ items: [] });
  expect(desk.counts().claims).toBe(0);
});

test('a repeated claim ends the wait of the first, at this and at another executor', async () => {
  const { executor, pass } = ledger();
  const [one, other] = [executor(), executor()];
  const first = one.claim(claimOf(), who);
  await settled();
  const second = one.claim(claimOf(), who);
  expect(await first).toEqual({ items: [] });
  const third = other.claim(claimOf({ waitMs: 0 }), who);
  expect(await second).toEqual({ items: [] });
  await settled();
  pass(0);
  expect(await third).toEqual({ items: [] });
});

test('a claim whose answer was lost is answered again by another executor, under the same epoch', async () => {
  const { executor, give } = ledger();
  const [one, other] = [executor(), executor()];
  give(one, orderOf());
  const [before, after] = [await one.claim(claimOf(), who), await other.claim(claimOf(), who)];
  expect(after).toEqual(before);
  expect(keysIn(after)).toEqual(['one']);
});

test('an order of one executor reaches a claim that waits at another', async () => {
  const { executor, give } = ledger();
  const [one, other] = [executor(), executor()];
  const answer = other.claim(claimOf(), who);
  await settled();
  give(one, orderOf());
  expect(keysIn(await answer)).toEqual(['one']);
});

test('an order that comes while a claim takes another reaches the claim if that one goes elsewhere', async () => {
  const { executor, give, stateOf } = ledger();
  const [one, other] = [executor(), executor()];
  const answer = other.claim(claimOf(), who);
  await settled();
  const reserved = other.take(orderOf('elsewhere'));
  give(one, orderOf('next'));
  other.free(reserved?.slot ?? 0);
  expect(reserved).toBeDefined();
  expect(stateOf(orderOf('next'))).toBe('started');
  expect(keysIn(await answer)).toEqual(['next']);
});

test('claims that look at the same time at two executors share the orders that wait', async () => {
  const { executor, give, pass } = ledger();
  const [one, other] = [executor(), executor()];
  for (const key of ['a', 'b']) give(one, orderOf(key));
  const answers = [one, other].map((desk, index) =>
    desk.claim(claimOf({ claim: `claim-000000000${String(index)}`, waitMs: 25_000 }), who),
  );
  await settled();
  pass(1_000);
  await settled();
  pass(24_000);
  expect((await Promise.all(answers)).flatMap(keysIn).toSorted()).toEqual(['a', 'b']);
});

test('claims that look at the same time at one executor share the orders of another', async () => {
  const { executor, give, pass } = ledger((decide) => void setImmediate(decide));
  const [one, other] = [executor(), executor()];
  for (const key of ['a', 'b', 'c']) give(one, orderOf(key));
  await settled();
  const answers = [1, 2, 3].map((number) =>
    other.claim(claimOf({ claim: `claim-000000000${String(number)}` }), who),
  );
  for (let turn = 0; turn < 5; turn += 1) await settled();
  pass(1_000);
  expect((await Promise.all(answers)).flatMap(keysIn).toSorted()).toEqual(['a', 'b', 'c']);
});

test('a waiting claim looks again after a failure of the ledger, and gives no order twice', async () => {
  const { executor, give, pass } = ledger();
  const one = executor();
  for (const key of ['a', 'b']) give(one, orderOf(key));
  const finds: string[] = [];
  const [a, b] = [orderOf('a').id, orderOf('b').id];
  const other = executor({
    find: () => {
      finds.push('');
      if (finds.length === 2) return Promise.reject(new Error('away'));
      return Promise.resolve({ held: [], offered: [finds.length === 1 ? a : b] });
    },
  });
  expect(keysIn(await one.claim(claimOf(), who))).toEqual(['a']);
  const answer = other.claim(claimOf({ claim: 'claim-0000000002', waitMs: 25_000 }), who);
  for (let second = 0; second < 3; second += 1) {
    await settled();
    pass(1_000);
  }
  expect(keysIn(await answer)).toEqual(['b']);
  pass(5_000);
  await settled();
  expect(finds).toHaveLength(3);
});

test('no claim is served while effects may not start, and all are answered when the executor stops', async () => {
  const { executor, give, stateOf } = ledger();
  const desk = executor();
  desk.close();
  give(desk, orderOf());
  const waiting = desk.claim(claimOf(), who);
  await settled();
  expect(stateOf(orderOf())).toBe('prepared');
  desk.open();
  expect(keysIn(await waiting)).toEqual(['one']);
  const last = desk.claim(claimOf({ claim: 'claim-0000000002' }), who);
  await settled();
  desk.drain();
  expect(await last).toEqual({ items: [] });
  expect(await desk.claim(claimOf({ claim: 'claim-0000000003' }), who)).toEqual({ items: [] });
});

test('a program gets an order only after its start is in the journal', async () => {
  const { executor, give } = ledger();
  let written = (): void => undefined;
  const desk = executor({ journalStart: () => new Promise((resolve) => (written = resolve)) });
  let answer: ClaimAnswer | undefined;
  void desk.claim(claimOf(), who).then((given) => (answer = given));
  await settled();
  give(desk, orderOf());
  await settled();
  expect(answer).toBeUndefined();
  written();
  await settled();
  expect(answer?.items).toMatchObject([{ kind: 'run', epoch: 1 }]);
});

test('an order that the journal does not take fails cleanly, and no program gets it', async () => {
  const { executor, give, pass, stateOf } = ledger();
  const desk = executor({ journalStart: () => Promise.reject(new Error('the disk is full')) });
  give(desk, orderOf());
  const answer = desk.claim(claimOf(), who);
  await settled();
  pass(1_000);
  expect(await answer).toEqual({ items: [] });
  expect(stateOf(orderOf())).toBe('failed_clean');
});

test('of 100,000 claims at once an executor keeps its limit, and announces no other', async () => {
  const { executor } = ledger();
  let announced = 0;
  const desk = executor({ announce: () => void (announced += 1) });
  const codes = await Promise.all(
    Array.from({ length: 100_000 }, (_, at) => {
      const answer = desk.claim(claimOf({ claim: `claim-${String(at).padStart(10, '0')}` }), who);
      // A claim that is kept waits for an order.
      return Promise.race([
        answer.then(
          () => 'answered',
          (error: unknown) => (error instanceof HoldpointError ? error.code : 'another error'),
        ),
        settled().then(() => 'waits'),
      ]);
    }),
  );
  const count = (code: string): number => codes.filter((each) => each === code).length;
  expect(count('waits')).toBe(CLAIMS_MAX);
  expect(count('EXECUTOR_TOO_MANY_CLAIMS')).toBe(100_000 - CLAIMS_MAX);
  expect(announced).toBe(CLAIMS_MAX);
});

test('more claims than an executor keeps, forged signatures and large outputs are refused', async () => {
  const { executor } = ledger();
  const desk = executor({ claimsMax: 1 });
  void desk.claim(claimOf(), who);
  await expect(desk.claim(claimOf({ claim: 'claim-0000000002' }), who)).rejects.toMatchObject({
    code: 'EXECUTOR_TOO_MANY_CLAIMS',
  });
  const { id } = orderOf();
  const end = {
    x,
    id,
    epoch: 1,
    result: { kind: 'applied', outputs: { text: 'x'.repeat(300_000) } },
  } as const;
  await expect(desk.end(signed(end, pair.privateKey))).rejects.toMatchObject({
    code: 'EXECUTOR_OUTPUTS_TOO_LARGE',
  });
  const stranger = generateKeyPairSync('ed25519').privateKey;
  const beat = { x, items: [{ id, epoch: 1 }] };
  await expect(desk.beat(signed(beat, stranger))).rejects.toMatchObject({ code: 'EXECUTOR_CLAIM_SIGNATURE' });
  expect(await desk.beat(signed(beat, pair.privateKey))).toMatchObject({ items: [{ state: 'lost' }] });
});

test('claimants have pages by name, and programs of one name appear once each', async () => {
  const desk = ledger().executor();
  const keys = ['A', 'B', 'C', 'D', 'E'].map((letter) => letter.repeat(43));
  for (const [i, key] of keys.entries())
    void desk.claim(
      claimOf({ claim: `claim-000000000${String(i)}`, x: key, claimant: i < 3 ? 'same' : 'other' }),
      who,
    );
  await settled();
  const seen: string[] = [];
  let after: string | undefined;
  let pages = 0;
  do {
    const page = await desk.list({ limit: 2, ...(after !== undefined && { after }) });
    expect(page.items.length).toBeLessThanOrEqual(2);
    seen.push(...page.items.map((each) => `${each.claimant} ${each.x.charAt(0)}`));
    after = page.next;
    pages += 1;
  } while (after !== undefined);
  expect(seen).toEqual(['other D', 'other E', 'same A', 'same B', 'same C']);
  expect(pages).toBe(3);
});
