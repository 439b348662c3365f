import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RemoteFinding, RemoteHolder, RemoteOutcome } from '@holdpoint/contracts/effect/remote';
import { describe, expect, test } from 'vitest';
import {
  bareOrderFor,
  decider,
  effectOf,
  NOW,
  orderFor,
  resolveFor,
  slot,
  workOf,
} from '../../testing/orders.ts';
import type { EffectMessage, Slot } from './decide.ts';
import { effectView } from '../queries/effects.ts';
import type { EffectState } from './state.ts';

const LEASE_MS = 30_000;
const uses = 'cap.remote.refund';
const remote = (effectClass: 'keyed' | 'opaque' | 'probeable' = 'keyed') =>
  effectOf({ uses, effectClass, target: 'payments' });

const holder = (change: Partial<RemoteHolder> = {}): Omit<RemoteHolder, 'since'> => ({
  claimant: 'refunds on a laptop',
  x: 'A'.repeat(43),
  claim: 'claim-0000000001',
  leaseMs: LEASE_MS,
  principal: 'ada',
  ...change,
});
const seatOf = (change: Partial<RemoteHolder> = {}, to: 'run' | 'probe' = 'run'): Slot => ({
  worker: 'refunds on a laptop',
  slot: -1,
  journal: 'journal-1',
  remote: { to, holder: holder(change) },
});

/** One effect, message by message. */
const story = (effect = remote()) => {
  const order = orderFor(effect);
  let state: EffectState = decider.initial;
  const act = (message: EffectMessage, now = NOW) => {
    const made = decider.decide(state, message, { now });
    state = made.events.reduce((before, event) => decider.evolve(before, event), state);
    return made;
  };
  const { x } = holder();
  return {
    order,
    act,
    state: () => state,
    run: (taken?: Slot) => act({ kind: 'run', payload: order, slot: taken }),
    claim: (taken: Slot = seatOf()) => act({ kind: 'claim', id: order.id, slot: taken }),
    end: (result: RemoteOutcome | RemoteFinding, epoch = 1, by = x) =>
      act({ kind: 'end', epoch, x: by, result }),
    beat: (epoch = 1, by = x) => act({ kind: 'beat', epoch, x: by }),
    expire: () => act({ kind: 'timer', name: 'lease', data: null }, NOW + LEASE_MS),
  };
};
const typesOf = ({ events }: { readonly events: readonly EffectEvent[] }) => events.map(({ type }) => type);

const applied: RemoteOutcome = { kind: 'applied', outputs: { refund: 're_1' } };
const failed: RemoteOutcome = { kind: 'failed_clean', error: { code: 'REMOTE_DECLINED', message: 'no' } };
const unknown: RemoteOutcome = { kind: 'unknown', reason: 'the connection was cut' };

describe('a remote order', () => {
  test('it waits without a timer, and a claim starts it under its own lease', () => {
    const it = story();
    expect(it.run()).toMatchObject({
      events: [{ type: 'prepared' }],
      timers: [],
      work: [{ kind: 'await_slot' }],
    });
    const started = it.claim();
    expect(started.events).toMatchObject([
      { type: 'started', epoch: 1, remote: { claimant: 'refunds on a laptop', since: NOW } },
    ]);
    expect(started.timers).toContainEqual({ set: 'lease', dueAt: NOW + LEASE_MS });
    expect(started.work).toMatchObject([{ kind: 'start', slot: -1, remote: { given: 1 } }]);
  });

  test('a slot of an executor never starts it, and a claim never starts an order of executors', () => {
    const it = story();
    it.run();
    expect(it.claim(slot)).toMatchObject({ events: [], work: [{ kind: 'await_slot' }] });
    const local = story(effectOf());
    local.run();
    expect(local.claim()).toMatchObject({ events: [], work: [{ kind: 'await_slot' }] });
  });

  test('its class is the one that people approved, and work is a preview alone', () => {
    expect(typesOf(story(remote('opaque')).run(seatOf()))).toEqual(['started']);
    const asWork = (change: Parameters<typeof workOf>[0]) => {
      const payload = bareOrderFor(workOf(change));
      return decider.decide(decider.initial, { kind: 'run', payload, slot: undefined }, { now: NOW }).events;
    };
    expect(asWork({ uses: `${uses}.preview` })).toMatchObject([{ type: 'prepared' }]);
    expect(asWork({ uses })).toMatchObject([{ type: 'refused', error: { code: 'EXECUTOR_GRANT_INVALID' } }]);
    expect(asWork({ uses: `${uses}.preview`, effectClass: 'keyed' })).toMatchObject([{ type: 'refused' }]);
    const preview = orderFor(effectOf({ uses: `${uses}.preview`, target: 'payments' }));
    const made = decider.decide(
      decider.initial,
      { kind: 'run', payload: preview, slot: undefined },
      { now: NOW },
    );
    expect(made.events).toMatchObject([{ type: 'refused', error: { code: 'EXECUTOR_UNKNOWN_CAPABILITY' } }]);
  });
});

describe('a beat', () => {
  test('it extends the lease of its own start, and of no other', () => {
    const it = story();
    it.run(seatOf());
    expect(it.beat()).toMatchObject({
      timers: [{ set: 'lease', dueAt: NOW + LEASE_MS }],
      answer: { ok: { state: 'held', leaseMs: LEASE_MS } },
    });
    for (const made of [it.beat(2), it.beat(1, 'B'.repeat(43)), story().beat()])
      expect(made).toMatchObject({ timers: [], answer: { ok: { state: 'lost' } } });
  });

  test('a beat of an earlier start does not extend the lease of the next', () => {
    const it = story();
    it.run(seatOf());
    it.expire();
    it.claim();
    expect(it.beat(1)).toMatchObject({ timers: [], answer: { ok: { state: 'lost' } } });
    expect(it.beat(3)).toMatchObject({ answer: { ok: { state: 'held' } } });
  });

  test('it tells the claimant of a cancellation', () => {
    const it = story();
    it.run(seatOf());
    const { id, attempt, effect } = it.order;
    it.act({
      kind: 'cancel',
      payload: { id, task: effect.task, node: effect.node, attempt, reason: 'over' },
    });
    expect(it.beat()).toMatchObject({ answer: { ok: { state: 'cancelled' } } });
  });
});

test('a silent claimant is named with its start, and stays known while the effect is in doubt', () => {
  const it = story(remote('opaque'));
  it.run(seatOf());
  it.expire();
  const began = new Date(NOW).toISOString().slice(0, 19).replace('T', ' ');
  expect(effectView(it.state())).toMatchObject({
    state: 'in_doubt',
    reason: `claimant refunds on a laptop began at ${began}Z and sent no beat for 30 s`,
    remote: { ...holder(), since: NOW },
  });
});

describe('the end of a run', () => {
  test.each([
    ['applied', applied, ['applied']],
    ['failed_clean', failed, ['failed_clean']],
    ['unknown', unknown, ['in_doubt']],
  ] as const)('%s is recorded once, and its repeat is harmless', (_kind, result, types) => {
    const it = story(remote('opaque'));
    it.run(seatOf());
    const made = it.end(result);
    expect([typesOf(made), made.answer]).toEqual([types, { ok: { epoch: 1, status: 'recorded' } }]);
    expect(it.end(result)).toMatchObject({ events: [], answer: { ok: { status: 'repeated' } } });
  });

  test('a second, different end is refused, and changes nothing', () => {
    const it = story(remote('opaque'));
    it.run(seatOf());
    it.end(applied);
    for (const other of [failed, unknown, { kind: 'applied', outputs: { refund: 're_2' } } as const])
      expect(it.end(other)).toMatchObject({
        events: [],
        answer: { error: { code: 'EXECUTOR_CLAIM_ENDED' } },
      });
  });

  test('another key, an unknown epoch and an unknown effect are refused', () => {
    const it = story();
    it.run(seatOf());
    expect(it.end(applied, 1, 'B'.repeat(43))).toMatchObject({
      events: [],
      answer: { error: { code: 'EXECUTOR_CLAIM_SIGNATURE' } },
    });
    expect(it.end(applied, 7).answer).toMatchObject({ error: { code: 'EXECUTOR_CLAIM_LOST' } });
    expect(story().end(applied).answer).toMatchObject({ error: { code: 'EXECUTOR_UNKNOWN_EFFECT' } });
  });

  test('a late "applied" ends the doubt; a late failure is evidence', () => {
    const late = story(remote('opaque'));
    late.run(seatOf());
    expect(typesOf(late.expire())).toEqual(['in_doubt']);
    const made = late.end(failed);
    expect([typesOf(made), made.answer]).toMatchObject([
      ['superseded'],
      { error: { code: 'EXECUTOR_CLAIM_LOST' } },
    ]);
    const proven = story(remote('opaque'));
    proven.run(seatOf());
    proven.expire();
    const ended = proven.end(applied);
    expect([typesOf(ended), ended.answer]).toMatchObject([
      ['superseded', 'applied'],
      { ok: { status: 'recorded' } },
    ]);
    expect(proven.end(applied)).toMatchObject({ events: [], answer: { ok: { status: 'repeated' } } });
  });

  test('an end under the epoch of an earlier claimant does not end the start of the next', () => {
    const it = story();
    it.run(seatOf());
    it.expire();
    it.claim(seatOf({ x: 'B'.repeat(43), claim: 'claim-0000000002' }));
    expect(it.end(failed).answer).toMatchObject({ error: { code: 'EXECUTOR_CLAIM_LOST' } });
    expect(it.state()).toMatchObject({ status: 'started', entry: { epoch: 3 } });
  });
});

describe('a repeated claim', () => {
  test('its lease is the one that an effect in doubt shows', () => {
    const it = story(remote('opaque'));
    it.run(seatOf());
    it.claim(seatOf({ leaseMs: 60_000 }));
    expect(effectView(it.state())?.remote?.leaseMs).toBe(60_000);
    it.expire();
    expect(effectView(it.state())).toMatchObject({ state: 'in_doubt', remote: { leaseMs: 60_000 } });
  });

  test('it gets the same order under the same epoch, and a new lease', () => {
    const it = story();
    it.run(seatOf());
    const again = it.claim({ ...seatOf(), journal: 'journal-2' });
    expect(again.events).toMatchObject([{ type: 'claimed', to: 'run', epoch: 1, journal: 'journal-2' }]);
    expect(again.work).toMatchObject([{ kind: 'start', epoch: 1, remote: { given: 2 } }]);
    expect(it.state()).toMatchObject({
      status: 'started',
      entry: { epoch: 1, starts: 1 },
      remote: { given: 2 },
    });
  });

  test.each([{ claim: 'claim-0000000009' }, { x: 'B'.repeat(43) }, { principal: 'eve' }])(
    'with another %j it gets nothing',
    (change) => {
      const it = story();
      it.run(seatOf());
      expect(it.claim(seatOf(change))).toMatchObject({ events: [], work: [] });
    },
  );

  test('a start fails cleanly if no executor has given it out', () => {
    const error = { code: 'EXECUTOR_JOURNAL_UNAVAILABLE', message: 'no journal' };
    const it = story();
    it.run(seatOf());
    expect(typesOf(it.act({ kind: 'not_given', epoch: 1, given: 1, error }))).toEqual(['failed_clean']);
    const elsewhere = story();
    elsewhere.run(seatOf());
    elsewhere.claim();
    for (const given of [1, 2])
      expect(elsewhere.act({ kind: 'not_given', epoch: 1, given, error }).events).toEqual([]);
  });
});

describe('a probe by a claimant', () => {
  const finding = (found: RemoteFinding['found']): RemoteFinding => ({
    kind: 'found',
    found,
    reason: 'looked',
  });
  const other = 'B'.repeat(43);
  /** A start that was lost, and a probe by another process. */
  const probedBy = (prober: Partial<RemoteHolder>, starter: Partial<RemoteHolder> = { seat: 'seat-1' }) => {
    const it = story(remote('probeable'));
    it.run(seatOf(starter));
    it.expire();
    const offered = it.act({ kind: 'timer', name: 'slot', data: null });
    expect(offered.work).toMatchObject([{ kind: 'await_slot', probe: true }]);
    expect(it.claim(seatOf({ x: other, ...prober }))).toMatchObject({
      events: [],
      work: [{ kind: 'await_slot' }],
    });
    const made = it.claim(seatOf({ x: other, ...prober }, 'probe'));
    expect([typesOf(made), made.work[0]?.kind]).toEqual([['claimed'], 'probe']);
    return it;
  };

  test('"not applied" counts from the next holder of the seat', () => {
    const it = probedBy({ seat: 'seat-1' });
    expect(it.beat(2, other)).toMatchObject({ answer: { ok: { state: 'held' } } });
    expect(typesOf(it.end(finding('not_applied'), 2, other))).toEqual(['probed', 'not_applied']);
    expect(it.end(finding('not_applied'), 2, other).answer).toMatchObject({ ok: { status: 'repeated' } });
    expect(it.end(finding('applied'), 2, other).answer).toMatchObject({
      error: { code: 'EXECUTOR_CLAIM_ENDED' },
    });
  });

  test.each<[string, Partial<RemoteHolder>, Partial<RemoteHolder>]>([
    ['another seat', { seat: 'seat-2' }, { seat: 'seat-1' }],
    ['no seat', {}, {}],
    ['the seat of another person', { seat: 'seat-1', principal: 'eve' }, { seat: 'seat-1' }],
    ['the process that began it', { seat: 'seat-1', x: holder().x }, { seat: 'seat-1' }],
  ])('"not applied" proves nothing from %s', (_who, prober, starter) => {
    const it = probedBy(prober, starter);
    const made = it.end(finding('not_applied'), 2, prober.x ?? other);
    expect(made.events).toMatchObject([
      { type: 'probed', found: 'unproven' },
      { type: 'in_doubt', next: 'probe' },
    ]);
  });

  test('"applied" counts from anyone who holds the probe, and from no other key', () => {
    const it = probedBy({});
    expect(it.end(finding('applied'), 2).answer).toMatchObject({
      error: { code: 'EXECUTOR_CLAIM_SIGNATURE' },
    });
    expect(typesOf(it.end(finding('applied'), 2, other))).toEqual(['probed', 'applied']);
  });
});

test('the answer "retry" goes to the claimant with the order that follows it', () => {
  const effect = remote('opaque');
  const it = story(effect);
  it.run(seatOf());
  it.expire();
  const payload = resolveFor('retry', 2, effect);
  it.act({ kind: 'resolve', payload });
  const made = it.claim(seatOf({ claim: 'claim-0000000002' }));
  expect(made.work).toMatchObject([{ kind: 'start', epoch: 3, remote: { statement: payload.statement } }]);
  expect(it.claim(seatOf({ claim: 'claim-0000000002' })).work).toMatchObject([
    { kind: 'start', epoch: 3, remote: { statement: payload.statement, given: 2 } },
  ]);
});
