import { describe, expect, onTestFinished, test } from 'vitest';
import { createMemoryLeases } from '../memory/leases.ts';
import { CALM_MS, LEASE_MS, type Ownership, RENEW_MS, type Standing, startOwnership } from './lease.ts';

const settle = async (): Promise<void> => {
  for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Processes that share a lease and a clock. A frozen one misses its steps until it wakes. */
const setup = () => {
  let now = 0;
  let away = false;
  const leases = createMemoryLeases(() => now);
  let steps: { readonly at: number; readonly of: string; readonly step: () => void }[] = [];
  const frozen = new Set<string>();
  const stops: (() => void)[] = [];
  onTestFinished(() => {
    for (const stop of stops) stop();
  });

  const runDue = async (): Promise<void> => {
    const due = steps.filter(({ at, of }) => at <= now && !frozen.has(of));
    steps = steps.filter((each) => !due.includes(each));
    for (const { step } of due) step();
    await settle();
  };

  const start = async (name: string) => {
    const standings: Standing[] = [];
    const store = leases.of(name);
    const ownership: Ownership = startOwnership({
      leases: {
        look: () => (away ? Promise.reject(new Error('the store is away')) : store.look()),
        release: () => store.release(),
      },
      clock: {
        now: () => now,
        after: (ms, step) => {
          const entry = { at: now + ms, of: name, step };
          steps.push(entry);
          return () => {
            steps = steps.filter((each) => each !== entry);
          };
        },
      },
      log: { warn: () => undefined, error: () => undefined },
      changed: (standing) => void standings.push(standing),
    });
    await ownership.ready;
    return { ownership, standings };
  };

  return {
    leases,
    start,
    freeze: (name: string): void => void frozen.add(name),
    wake: async (name: string): Promise<void> => {
      frozen.delete(name);
      await runDue();
    },
    storeAway: (is: boolean): void => {
      away = is;
    },
    advance: async (ms: number): Promise<void> => {
      for (const end = now + ms; now < end;) {
        now += 20;
        await runDue();
      }
    },
  };
};

describe('the owner of a service', () => {
  test('the first process owns the service, and the second stands by', async () => {
    const world = setup();
    const one = await world.start('one');
    const two = await world.start('two');
    expect(one.ownership.standing()).toEqual({ is: 'owner', epoch: 1 });
    expect(two.ownership.standing()).toEqual({ is: 'standby' });
  });

  test('an owner that renews its lease stays the owner', async () => {
    const world = setup();
    const one = await world.start('one');
    const two = await world.start('two');
    await world.advance(LEASE_MS * 5);
    expect(one.standings).toEqual([{ is: 'owner', epoch: 1 }]);
    expect(two.standings).toEqual([{ is: 'standby' }]);
  });

  test('a standby takes over from a frozen owner when its lease is over', async () => {
    const world = setup();
    const one = await world.start('one');
    const two = await world.start('two');
    await world.advance(RENEW_MS / 2);
    world.freeze('one');
    await world.advance(LEASE_MS - RENEW_MS);
    expect(two.ownership.isOwner()).toBe(false);
    await world.advance(RENEW_MS);
    expect(two.ownership.standing()).toEqual({ is: 'owner', epoch: 2 });
    expect(one.ownership.isOwner()).toBe(false);
  });

  test('an owner that wakes after its lease is over stands by', async () => {
    const world = setup();
    const one = await world.start('one');
    const two = await world.start('two');
    world.freeze('one');
    await world.advance(LEASE_MS * 2);
    await world.wake('one');
    await world.advance(RENEW_MS);
    expect(one.standings.at(-1)).toEqual({ is: 'standby' });
    expect(two.ownership.isOwner()).toBe(true);
  });

  test('a standby takes over at its next look from a process that has ended', async () => {
    const world = setup();
    await world.start('one');
    const two = await world.start('two');
    world.freeze('one');
    world.leases.ended('one');
    await world.advance(600);
    expect(two.ownership.standing()).toEqual({ is: 'owner', epoch: 2 });
  });

  test('an owner without a store is adrift when its lease is over, and owns the service again afterwards', async () => {
    const world = setup();
    const { ownership, standings } = await world.start('one');
    world.storeAway(true);
    await world.advance(LEASE_MS - RENEW_MS);
    expect(ownership.isOwner()).toBe(true);
    await world.advance(RENEW_MS * 2);
    expect(ownership.standing()).toEqual({ is: 'adrift' });
    world.storeAway(false);
    await world.advance(RENEW_MS);
    expect(standings).toEqual([{ is: 'owner', epoch: 1 }, { is: 'adrift' }, { is: 'owner', epoch: 1 }]);
  });

  test('owners that are too slow get longer leases, until none has run out for a while', async () => {
    const world = setup();
    await world.start('one');
    const two = await world.start('two');
    const freeze = async (name: string): Promise<void> => {
      world.freeze(name);
      await world.advance(LEASE_MS + RENEW_MS);
      await world.wake(name);
    };
    await freeze('one');
    expect(two.ownership.standing()).toMatchObject({ is: 'owner' });
    world.freeze('two');
    await world.advance(LEASE_MS + RENEW_MS);
    await world.wake('two');
    const { epoch, lastsMs } = world.leases.row();
    expect(lastsMs).toBe(2 * LEASE_MS);
    await freeze('one');
    await freeze('two');
    expect(world.leases.row()).toMatchObject({ epoch, lastsMs });
    await world.advance(CALM_MS + RENEW_MS);
    expect(world.leases.row()).toMatchObject({ epoch, lastsMs: LEASE_MS });
  });

  test('a fenced owner looks at once, and stands by', async () => {
    const world = setup();
    const one = await world.start('one');
    world.leases.restore({ owner: 'two', epoch: 2, until: LEASE_MS });
    one.ownership.fenced();
    expect(one.ownership.isOwner()).toBe(false);
    await world.advance(20);
    expect(one.standings.at(-1)).toEqual({ is: 'standby' });
  });

  test('a released lease is free for the next look', async () => {
    const world = setup();
    const one = await world.start('one');
    const two = await world.start('two');
    await one.ownership.release();
    await two.ownership.lookNow();
    expect(two.ownership.standing()).toEqual({ is: 'owner', epoch: 2 });
  });

  test('a lease of a restored table cannot keep a service without an owner', async () => {
    const world = setup();
    world.leases.restore({ owner: 'gone', epoch: 7, until: LEASE_MS * 1_000 });
    const { ownership } = await world.start('one');
    expect(ownership.standing()).toEqual({ is: 'owner', epoch: 8 });
  });

  test('equal epochs of a restored table belong to different owners', async () => {
    const world = setup();
    const earlier = world.leases.row();
    await world.start('one');
    world.leases.restore(earlier);
    await world.start('two');
    expect([world.leases.holds('one', 1), world.leases.holds('two', 1)]).toEqual([false, true]);
  });
});
