import { describe, expect, test } from 'vitest';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { TaskId } from '@holdpoint/contracts/values/ids';
import { setImmediate as turn } from 'node:timers/promises';
import type { AskService } from '../bus/ask-service.ts';
import { ask } from '../definition/ask.ts';
import { agentPhase, effectPhase, humanPhase, play } from '../testing/fixture.ts';
import { clientOver } from './create-client.ts';
import type { ClientPort } from './port.ts';
import type { WorkflowEvent } from './events.ts';
import { followTask } from './follow.ts';

const review = humanPhase({
  input: ask.choice(['good', 'bad']),
  prompt: { title: 'Good?' },
  onResponse: (response, draft) => void draft.notes.push(response),
  next: (_state, response) => (response === 'good' ? 'done' : 'bad'),
});
const work = agentPhase({
  run: (context) => context.update((draft) => void (draft.count += 1)),
  next: 'second',
});

describe('a handle', () => {
  test('a handle answers the open question', async () => {
    const { handle, env, ended } = await play({ first: work, second: review });
    await env.settled();
    expect(await handle.state()).toMatchObject({ count: 1, notes: [] });
    await expect(handle.respond('ugly')).rejects.toMatchObject({ code: 'APPROVALS_RESPONSE_INVALID' });
    await expect(handle.respond('good', { phase: 'first' })).rejects.toMatchObject({
      code: 'ORCHESTRATOR_ILLEGAL_IN_PHASE',
    });
    await handle.respond('good', { comment: 'very' });
    expect(await ended()).toMatchObject({ count: 1, notes: ['good'] });
    await expect(handle.respond('good')).rejects.toMatchObject({ code: 'ORCHESTRATOR_ILLEGAL_IN_PHASE' });
    expect(await handle.state()).toMatchObject({ notes: ['good'] });
  });

  test('a handle needs a token to answer', async () => {
    const client = clientOver({ ask: undefined as unknown as AskService } as never);
    await expect(client.get('t-1').respond(true)).rejects.toMatchObject({
      code: 'APPROVALS_UNAUTHENTICATED',
    });
  });

  test('a handle yields all events of the task at any time', async () => {
    const { handle, env } = await play({ first: work, second: review });
    const live: string[] = [];
    const following = (async () => {
      for await (const { name } of handle.events()) live.push(name);
    })();
    await env.settled();
    expect(live).toEqual([
      'phase:started',
      'phase:completed',
      'phase:started',
      'state:checkpoint',
      'input:requested',
    ]);
    await handle.respond('bad', { comment: 'sorry' });
    await following;
    expect(live.slice(-4)).toEqual([
      'phase:completed',
      'phase:started',
      'phase:completed',
      'workflow:failed',
    ]);
    const later: WorkflowEvent[] = [];
    for await (const event of env.client.get(handle.id).events()) later.push(event);
    expect(later.map(({ name }) => name)).toEqual(live);
    expect(later.find(({ name }) => name === 'input:received')).toMatchObject({
      phase: 'second',
      outcome: 'answered',
      response: 'bad',
      comment: 'sorry',
    });
  });

  test('a failed task has the output of its terminal phase, and no output of an earlier phase', async () => {
    const output = agentPhase({ run: () => ({ n: 7 }), next: 'second' });
    const fails = agentPhase({
      run: () => {
        throw new Error('no tea');
      },
      next: 'done',
    });
    const { ended } = await play({ first: output, second: fails });
    expect(await ended()).toMatchObject({ name: 'WorkflowFailed', message: 'no tea', output: undefined });
    const bad = await play({ first: output, second: agentPhase({ run: () => 1, next: 'bad' }) });
    expect(await bad.ended()).toMatchObject({ name: 'WorkflowFailed', output: 'bad' });
  });

  test('a handle cancels the task', async () => {
    const { handle, env, ended } = await play({ first: work, second: review });
    await env.settled();
    await handle.cancel('no more');
    expect(await ended()).toMatchObject({
      name: 'WorkflowCancelled',
      code: 'NODE_CANCELLED',
      reason: 'no more',
    });
    expect(env.questions()).toEqual([]);
  });

  test('a fork from a phase does not repeat earlier effects', async () => {
    const send = effectPhase({
      effect: () => ({
        kind: 'other',
        capability: 'cap.file.append',
        args: { file: 'x', line: 'y' },
        idempotencyKey: 'k',
      }),
      onResult: (_outputs, draft) => void (draft.count += 1),
      next: 'second',
    });
    const { handle, env, ended } = await play(
      { first: send, second: review },
      { prepare: (env) => env.onInput([{ response: 'bad' }, { response: 'good' }]) },
    );
    expect(await ended()).toMatchObject({ output: 'bad' });
    const fork = await handle.fork({ at: 'second', id: 'other' });
    expect(fork.id).toBe('other');
    expect(await fork.result()).toMatchObject({ count: 1, notes: ['good'] });
    const whole = await handle.fork({ at: 1 });
    env.onInput([{ response: 'good' }]);
    expect(await whole.result()).toMatchObject({ count: 1 });
    expect(env.effects()).toHaveLength(2);
    await expect(handle.fork({ at: 'done' })).rejects.toMatchObject({ code: 'ORCHESTRATOR_UNKNOWN_VERSION' });
  });

  test('a repeated start with the same id starts one task', async () => {
    const { env } = await play({ first: work, second: review });
    env.onInput(() => ({ response: 'good' }));
    const one = await env.start('fixture@1', { topic: 'x' }, { id: 'mine' });
    const same = await env.start('fixture@1', { topic: 'x' }, { id: 'mine' });
    expect(one.id).toBe(same.id);
    await one.result();
    await expect(env.start('fixture@1', { topic: 'y' }, { id: 'mine' })).rejects.toMatchObject({
      code: 'ORCHESTRATOR_TASK_CONFLICT',
    });
  });

  test('a handle of an unknown task reports it', async () => {
    const { env } = await play({ first: work, second: review });
    await expect(env.client.get('nobody').state()).rejects.toMatchObject({
      code: 'ORCHESTRATOR_UNKNOWN_TASK',
    });
    await expect(env.client.get('nobody').result()).rejects.toMatchObject({
      code: 'ORCHESTRATOR_UNKNOWN_TASK',
    });
  });
});

test('commands of a client name the local user, and a start may name another person', async () => {
  const sent: unknown[] = [];
  const port = {
    ask: ((_service: string, endpoint: string, payload: Readonly<Record<string, unknown>>) => {
      if (endpoint === 'history') return Promise.resolve({ events: [] });
      sent.push([endpoint, payload['requestedBy'] ?? payload['by']]);
      return Promise.resolve({});
    }) as unknown as AskService,
    user: 'ada',
  } as unknown as ClientPort;
  const handle = await clientOver(port).start('tea', {});
  await clientOver(port).start('tea', {}, { requestedBy: 'cleo' });
  await handle.cancel('enough');
  await handle.fork({ at: 1 });
  expect(sent).toEqual([
    ['submit', 'ada'],
    ['submit', 'cleo'],
    ['cancel', 'ada'],
    ['fork', 'ada'],
  ]);
});

describe('following a task', () => {
  const entry = (version: number): HistoryEntry => ({
    version,
    at: version,
    type: `e${String(version)}`,
    data: {},
  });

  /** A store with a growing history, and a bus under the control of the test. */
  const world = () => {
    const history: HistoryEntry[] = [entry(1), entry(2)];
    const timers = new Set<() => void>();
    const asked: number[] = [];
    let ring: () => void = () => undefined;
    let isAway = false;
    let isDeaf = false;
    const port = {
      ask: ((_service: string, _endpoint: string, { after }: { readonly after: number }) => {
        asked.push(after);
        if (isAway) return Promise.reject(new HoldpointError('RUNTIME_UNAVAILABLE', 'away'));
        const events = history.slice(after, after + 2);
        return Promise.resolve({ events, more: after + events.length < history.length });
      }) as unknown as AskService,
      fetch: () => Promise.reject(new Error('nothing')),
      watch: (_task: string, onChange: () => void) => {
        ring = onChange;
        return Promise.resolve(() => {
          isDeaf = true;
        });
      },
      clock: {
        after: (_ms: number, step: () => void) => {
          timers.add(step);
          return () => void timers.delete(step);
        },
      },
    };
    const seen: number[] = [];
    const follow = (async () => {
      for await (const { version } of followTask(port, 't-1' as TaskId)) {
        seen.push(version);
        if (version === 7) return;
      }
    })();
    return {
      seen,
      asked,
      follow,
      history,
      isDeaf: () => isDeaf,
      away: (now: boolean) => {
        isAway = now;
      },
      ring: () => ring(),
      settle: async () => {
        for (let turns = 0; turns < 5; turns += 1) await turn();
      },
      pass: () => {
        for (const step of timers) step();
      },
    };
  };

  test('followed events arrive once and in order despite losses and outages', async () => {
    const { seen, asked, follow, history, isDeaf, away, ring, settle, pass } = world();
    await settle();
    expect([seen, asked]).toEqual([[1, 2], [0]]);
    // A message without a change.
    ring();
    await settle();
    expect([seen, asked]).toEqual([
      [1, 2],
      [0, 2],
    ]);
    // One message announces a page and a half.
    history.push(entry(3), entry(4), entry(5));
    away(true);
    ring();
    await settle();
    expect(seen).toEqual([1, 2]);
    away(false);
    pass();
    await settle();
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    // The bus message is lost, so the client polls.
    history.push(entry(6));
    pass();
    await settle();
    expect(seen.at(-1)).toBe(6);
    history.push(entry(7));
    ring();
    await follow;
    expect(seen).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect(isDeaf()).toBe(true);
  });
});
