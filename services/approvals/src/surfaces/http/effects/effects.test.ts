import type { RegisteredCapability } from '@holdpoint/contracts/approval/capability';
import { HELD_NODE, HoldEffect } from '@holdpoint/contracts/effect/hold';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { heldTaskIdOf } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { describe, expect, test } from 'vitest';
import type { Forwarded } from '../forward.ts';
import { type Asker, createEffects } from './effects.ts';

const REFUND: RegisteredCapability = {
  name: 'refund',
  title: 'Refund ${cents} cents of ${charge}',
  kind: 'write_external',
  effectClass: 'keyed',
  target: 'payments:${charge}',
  input: {
    type: 'object',
    required: ['charge', 'cents'],
    properties: { charge: { type: 'string' }, cents: { type: 'integer' } },
  },
  status: 'registered',
  registeredBy: 'ada',
  registeredAt: 0,
};
const ID = heldTaskIdOf('refund', 'refund:ch_1');
const WANTED: HoldEffect = HoldEffect.parse({
  capability: 'refund',
  key: 'refund:ch_1',
  args: { charge: 'ch_1', cents: 500 },
});
const CALLBACKS = [{ event: 'effect.applied', state: 'waiting', tries: 1, at: 5 }] as const;
const ASKER = {
  person: { name: 'ada', groups: [] },
  caller: { identity: '1', header: () => undefined },
} as Asker;

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** An orchestrator that knows submitted tasks, and an executor with this ledger. */
const world = (definition: RegisteredCapability = REFUND, workflow = 'effect') => {
  const submitted = new Map<string, JsonObject>();
  const tasks = new Map<string, { phase: string; status: string; effects?: readonly string[] }>();
  let ledger: string | undefined;
  let wake: () => void = () => undefined;
  const asked: string[] = [];
  const answers: Readonly<Record<string, (body: JsonObject) => unknown>> = {
    'orchestrator.submit': (body) => {
      const id = text(body['id']);
      submitted.set(id, body['inputs'] as JsonObject);
      tasks.set(id, { phase: 'queued', status: 'idle' });
      return { id, phase: 'queued', version: 1 };
    },
    'orchestrator.get': ({ id }) => {
      const task = tasks.get(text(id));
      if (task === undefined) throw new HoldpointError('ORCHESTRATOR_UNKNOWN_TASK', 'unknown task');
      const { phase, status, effects } = task;
      const node = {
        id: HELD_NODE,
        status,
        job: 'queued',
        attempt: 1,
        uses: 'cap.remote.refund',
        after: [],
        gated: true,
      };
      return {
        id,
        workflow: `${workflow}@1`,
        definitionHash: '',
        goal: '',
        phase,
        version: 1,
        requestedBy: 'ada',
        sinks: [],
        entries: [],
        nodes: [{ ...node, ...(effects && { effects, effect: effects[0] }) }],
      };
    },
    'orchestrator.history': ({ id }) => {
      const data = { type: 'submitted', inputs: submitted.get(text(id)) ?? {} };
      return { events: [{ version: 1, at: 0, type: 'submitted', data }] };
    },
    'orchestrator.cancel': ({ id }) => {
      tasks.set(text(id), { phase: 'cancelled', status: 'cancelled' });
      return {};
    },
    'executor.get': () => {
      if (ledger === undefined) throw new HoldpointError('EXECUTOR_UNKNOWN_EFFECT', 'unknown effect');
      return {
        id: 'e-1',
        task: ID,
        node: HELD_NODE,
        state: ledger,
        epoch: 1,
        digest: '0'.repeat(64),
        idempotencyKey: 'k',
        starts: 1,
      };
    },
  };
  const effects = createEffects({
    forward: async ({ service, endpoint, body }: Forwarded) => {
      asked.push(`${service}.${endpoint}`);
      return answers[`${service}.${endpoint}`]?.(body as JsonObject);
    },
    listener: {
      wake: (_, call) => {
        wake = call;
        return { stop: () => undefined };
      },
    },
    assertCallback: (url) => {
      if (!url.startsWith('https://ci.example/'))
        throw new HoldpointError('APPROVALS_CALLBACK_NOT_ALLOWED', 'no');
    },
    capability: async () => definition,
    callbacks: async () => CALLBACKS,
  });
  return {
    effects,
    asked,
    submitted,
    become: (task: { phase: string; status: string; effects?: readonly string[] }, state?: string) => {
      tasks.set(ID, task);
      ledger = state;
      wake();
    },
  };
};

describe('holding an effect', () => {
  test('a new effect is submitted with class, kind and target of its capability', async () => {
    const { effects, submitted } = world();
    const { isNew, effect } = await effects.hold(ASKER, WANTED);
    expect({ isNew, ...effect }).toMatchObject({
      isNew: true,
      id: ID,
      state: 'requested',
      capability: 'refund',
    });
    expect(submitted.get(ID)).toEqual({
      capability: 'refund',
      args: { charge: 'ch_1', cents: 500 },
      key: 'refund:ch_1',
      kind: 'write_external',
      class: 'keyed',
      target: 'payments:ch_1',
      previews: false,
    });
  });

  test('a repeat with another reason finds the same effect', async () => {
    const { effects, asked } = world();
    await effects.hold(ASKER, WANTED);
    expect(await effects.hold(ASKER, { ...WANTED, reason: 'another' })).toMatchObject({
      isNew: false,
      effect: { id: ID },
    });
    expect(asked.filter((each) => each === 'orchestrator.submit')).toHaveLength(1);
  });

  test('a new effect of a withdrawn capability is refused', async () => {
    const { effects, submitted } = world({ ...REFUND, status: 'withdrawn' });
    await expect(effects.hold(ASKER, WANTED)).rejects.toMatchObject({
      code: 'APPROVALS_CAPABILITY_WITHDRAWN',
    });
    expect(submitted.size).toBe(0);
  });

  test('a callback to an origin that is not allowed is refused before anything is submitted', async () => {
    const { effects, submitted } = world();
    const held = (url: string) => effects.hold(ASKER, { ...WANTED, callback: { url } });
    await expect(held('https://other.example/')).rejects.toMatchObject({
      code: 'APPROVALS_CALLBACK_NOT_ALLOWED',
    });
    expect(submitted.size).toBe(0);
    const { effect } = await held('https://ci.example/done?secret=1');
    expect(submitted.get(ID)).toMatchObject({ callback: { url: 'https://ci.example/done?secret=1' } });
    const shown = { origin: 'https://ci.example', items: CALLBACKS };
    expect(effect.callback).toEqual(shown);
    expect((await effects.find(ASKER, ID)).callback).toEqual(shown);
  });

  test('other arguments under the same key are a conflict', async () => {
    const { effects } = world();
    await effects.hold(ASKER, WANTED);
    await expect(
      effects.hold(ASKER, { ...WANTED, args: { charge: 'ch_1', cents: 501 } }),
    ).rejects.toMatchObject({
      code: 'ORCHESTRATOR_TASK_CONFLICT',
    });
  });

  test('wrong arguments are refused with every problem before anything is submitted', async () => {
    const { effects, submitted } = world();
    await expect(effects.hold(ASKER, { ...WANTED, args: { cents: '5' } })).rejects.toMatchObject({
      code: 'APPROVALS_ARGUMENTS_INVALID',
      details: { problems: [expect.any(String), expect.any(String)] },
    });
    expect(submitted.size).toBe(0);
  });
});

describe('waiting for an effect', () => {
  const soon = (): AbortSignal => new AbortController().signal;

  test('a wait ends as soon as the effect is final', async () => {
    const { effects, become } = world();
    await effects.hold(ASKER, WANTED);
    const waiting = effects.wait(ASKER, ID, undefined, soon());
    become({ phase: 'completed', status: 'succeeded' });
    expect(await waiting).toMatchObject({ state: 'applied' });
  });

  test('a wait for another state ends when the effect leaves that state', async () => {
    const { effects, become } = world();
    await effects.hold(ASKER, WANTED);
    const waiting = effects.wait(ASKER, ID, 'requested', soon());
    become({ phase: 'executing', status: 'running', effects: ['e-1'] }, 'started');
    expect(await waiting).toMatchObject({ state: 'running' });
  });

  test('a wait answers with the current state at its end', async () => {
    const { effects } = world();
    await effects.hold(ASKER, WANTED);
    const over = new AbortController();
    const waiting = effects.wait(ASKER, ID, undefined, over.signal);
    over.abort();
    expect(await waiting).toMatchObject({ state: 'requested' });
  });

  test('tasks of other workflows are no held effects', async () => {
    const { effects, become } = world(REFUND, 'sample');
    become({ phase: 'queued', status: 'idle' });
    await expect(effects.find(ASKER, ID)).rejects.toMatchObject({ code: 'EXECUTOR_UNKNOWN_EFFECT' });
  });

  test('cancelling an effect that has ended changes nothing', async () => {
    const { effects, become, asked } = world();
    await effects.hold(ASKER, WANTED);
    become({ phase: 'completed', status: 'succeeded' });
    expect(await effects.cancel(ASKER, ID, undefined)).toMatchObject({ state: 'applied' });
    expect(asked).not.toContain('orchestrator.cancel');
  });
});
