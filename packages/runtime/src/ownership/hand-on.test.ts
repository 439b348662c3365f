import { describe, expect, test } from 'vitest';
import type { Answer } from '../decider.ts';
import type { Callbacks } from '../engine/engine.ts';
import type { Addressed } from '../engine/kinds.ts';
import type { Seals } from '../engine/seals.ts';
import { createHandOn, type HandOnBus, type HandOnMessage } from './hand-on.ts';

type Outcome = { readonly answer?: Answer | undefined; readonly code?: string; readonly unavailable?: true };

/** Seals that only say who sealed. */
const seals: Seals = {
  seal: (messages) =>
    messages.map((message) => ({ ...message, headers: [...message.headers, ['seal', 'approvals']] })),
  check: ({ header }) =>
    header('seal') === 'approvals'
      ? { key: 'k' }
      : { error: { code: 'SEAL_MISSING', message: 'The message has no seal; only services may send it' } },
};

const setup = () => {
  let now = 0;
  const logged: object[] = [];
  const listeners: { readonly subject: string; readonly hear: (msg: HandOnMessage) => void }[] = [];
  const bus: HandOnBus = {
    request: (subject, body, headers) =>
      new Promise((resolve) => {
        const heard = listeners.filter((each) => each.subject === subject);
        const header = (name: string) => headers.find(([each]) => each === name)?.[1];
        const respond = (answer: string): void => resolve(new TextEncoder().encode(answer));
        for (const { hear } of heard)
          hear({ subject, data: new TextEncoder().encode(body), header, respond });
        // Nobody who listens answers.
        setImmediate(() => setImmediate(() => resolve(undefined)));
      }),
    listen: (subject, hear) => {
      const entry = { subject, hear };
      listeners.push(entry);
      return { stop: () => void listeners.splice(listeners.indexOf(entry), 1) };
    },
  };
  const clock = {
    now: () => now,
    after: (ms: number, step: () => void) => {
      setImmediate(() => {
        now += ms;
        step();
      });
      return () => undefined;
    },
  };
  const replica = (
    decide: (callbacks: Callbacks, to: Addressed) => void,
    looked: () => void = () => undefined,
  ) => {
    const state = { owns: false };
    const handOn = createHandOn<Addressed>({
      service: 'approvals',
      bus,
      seals,
      isOwner: () => state.owns,
      accept: (to, callbacks) => decide(callbacks, to),
      log: { warn: () => undefined, error: (fields: object) => void logged.push(fields) },
      lookNow: () => Promise.resolve(looked()),
      clock,
    });
    handOn.serve();
    handOn.standBy();
    const ask = (): Promise<Outcome> =>
      new Promise((resolve) => {
        handOn.accept(
          { kind: 'approval', aggregate: 'a-1', message: { kind: 'decide' } },
          {
            committed: (answer) => resolve({ answer }),
            failed: ({ code }) => resolve({ code }),
            unavailable: () => resolve({ unavailable: true }),
          },
        );
      });
    return { state, handOn, ask };
  };
  return { bus, replica, logged };
};

const decided: Answer = { ok: { status: 'approved' } };
const commits = (callbacks: Callbacks): void => callbacks.committed(decided);
const never = (): void => {
  throw new Error('a standby decides nothing');
};

describe('a message for the owner of a service', () => {
  test('the owner decides it itself', async () => {
    const { replica } = setup();
    const owner = replica(commits);
    owner.state.owns = true;
    expect(await owner.ask()).toEqual({ answer: decided });
  });

  test('a standby hands it on to the owner and returns the answer', async () => {
    const { replica } = setup();
    const taken: Addressed[] = [];
    const owner = replica((callbacks, to) => {
      taken.push(to);
      commits(callbacks);
    });
    owner.state.owns = true;
    expect(await replica(never).ask()).toEqual({ answer: decided });
    expect(taken).toMatchObject([{ kind: 'approval', aggregate: 'a-1', message: { kind: 'decide' } }]);
  });

  test('a refusal of the owner reaches the caller of the standby, and its cause the log of the owner', async () => {
    const { replica, logged } = setup();
    const cause = new TypeError('no such event');
    const owner = replica(({ failed }) => failed({ code: 'RUNTIME_POISON', message: 'x' }, cause));
    owner.state.owns = true;
    expect(await replica(never).ask()).toEqual({ code: 'RUNTIME_POISON' });
    expect(logged).toMatchObject([{ error: 'TypeError', reason: 'no such event' }]);
  });

  test('it waits for the next owner', async () => {
    const { replica } = setup();
    const standby = replica(commits);
    const answer = standby.ask();
    setImmediate(() => (standby.state.owns = true));
    expect(await answer).toEqual({ answer: decided });
  });

  test('it is refused as unavailable when no process owns the service for long', async () => {
    const { replica } = setup();
    expect(await replica(never).ask()).toEqual({ unavailable: true });
  });

  test('it is refused as unavailable when the store of the owner does not answer', async () => {
    const { replica } = setup();
    const owner = replica(({ unavailable }) => unavailable());
    owner.state.owns = true;
    expect(await replica(never).ask()).toEqual({ unavailable: true });
  });

  test('a fenced owner hands it on to its successor', async () => {
    const { replica } = setup();
    const successor = replica(commits);
    const fenced = replica(({ unavailable }) => {
      fenced.state.owns = false;
      successor.state.owns = true;
      unavailable();
    });
    fenced.state.owns = true;
    expect(await fenced.ask()).toEqual({ answer: decided });
  });

  test('the owner refuses a message without a seal', async () => {
    const { bus, replica } = setup();
    const owner = replica(never);
    owner.state.owns = true;
    const answer = await bus.request('hp.own.approvals.decide', '{"to":{}}', []);
    expect(JSON.parse(new TextDecoder().decode(answer))).toMatchObject({ failed: { code: 'SEAL_MISSING' } });
  });
});

describe('an owner that stops', () => {
  test('a standby takes over at once and confirms it', async () => {
    const { replica } = setup();
    const looks: string[] = [];
    const standby = replica(commits, () => {
      looks.push('look');
      standby.state.owns = true;
    });
    await replica(never).handOn.announceStop();
    expect([looks.length > 0, standby.state.owns]).toEqual([true, true]);
  });

  test('without a standby it does not wait', async () => {
    const { replica } = setup();
    await expect(replica(never).handOn.announceStop()).resolves.toBeUndefined();
  });
});
