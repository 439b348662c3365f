import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agentPhase, effectPhase, ends, humanPhase, State } from '../testing/fixture.ts';
import { ask } from './ask.ts';
import type { AnyPhase } from './phase.ts';
import { defineWorkflow, type Workflow } from './workflow.ts';

const work = agentPhase({ run: () => 1, next: 'done' });
const named = { id: 'letter', version: '1', state: State } as const;

/** As JavaScript would call it. */
const defineAnything = defineWorkflow as unknown as (spec: object) => Workflow;

describe('what is registered', () => {
  test('is all of a workflow that is data', () => {
    const { definition, hash } = defineWorkflow({
      ...named,
      initial: 'work',
      snapshotEvery: 5,
      phases: {
        work: agentPhase({
          run: () => 1,
          onError: { strategy: 'retry', maxRetries: 2, backoff: 'exponential' },
          next: 'ask',
        }),
        ask: humanPhase({
          input: ask.text(),
          prompt: { title: 'Well?' },
          onResponse: () => undefined,
          onExpired: 'bad',
          next: 'send',
        }),
        send: effectPhase({
          effect: () => ({ kind: 'other', capability: 'cap.x', args: {}, idempotencyKey: 'k' }),
          next: () => 'done' as const,
        }),
        ...ends,
      },
    });
    expect(hash).toMatch(/^[0-9a-f]{40}$/);
    expect(definition).toEqual({
      id: 'letter',
      version: '1',
      code: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
      initial: 'work',
      snapshotEvery: 5,
      phases: [
        {
          type: 'agent',
          id: 'work',
          next: ['ask'],
          onError: { strategy: 'retry', maxRetries: 2, backoff: 'exponential', delayMs: 1_000 },
        },
        { type: 'human', id: 'ask', input: 'text', next: ['send', 'bad'] },
        { type: 'effect', id: 'send' },
        { type: 'terminal', id: 'done', outcome: 'succeeded' },
        { type: 'terminal', id: 'bad', outcome: 'failed' },
      ],
    });
  });
});

describe('what the compiler has not seen is refused', () => {
  test.each<readonly [string, object, string]>([
    ['a name that is none', { id: 'a letter' }, 'id: letters, digits'],
    [
      'a phase that no subject could name',
      { phases: { 'a.b': work, ...ends }, initial: 'a.b' },
      'phases.0.id',
    ],
    ['an initial phase that there is not', { initial: 'wrok' }, 'initial names no phase: wrok'],
    [
      'a next that names no phase',
      { phases: { work: agentPhase({ run: () => 1, next: 'odne' }), ...ends } },
      'phases.work: next names no phase: odne',
    ],
    [
      'no way to an end',
      { phases: { work: agentPhase({ run: () => 1, next: 'work' }), ...ends } },
      'no terminal phase can be reached from work',
    ],
    [
      'a phase without work',
      { phases: { work: { type: 'agent', spec: { next: 'done' } }, ...ends } },
      'run must be a function',
    ],
    [
      'a phase that leads nowhere',
      { phases: { work: { type: 'agent', spec: { run: () => 1 } }, ...ends } },
      'next must be a name or a function',
    ],
    [
      'a question that nothing follows from',
      {
        phases: {
          work: { type: 'human', spec: { input: ask.text(), prompt: { title: 'x' }, next: 'done' } },
          ...ends,
        },
      },
      'onResponse must be a function',
    ],
    [
      'items and rounds together',
      {
        phases: {
          work: agentPhase({ forEach: () => [1], run: () => 1, until: () => true, next: 'done' }),
          ...ends,
        },
      },
      'until and forEach exclude each other',
    ],
    [
      'side by side without end',
      { phases: { work: agentPhase({ run: () => 1, parallel: 101, next: 'done' }), ...ends } },
      'parallel is 1 to 100',
    ],
    [
      'retries without number',
      {
        phases: {
          work: agentPhase({ run: () => 1, onError: { strategy: 'retry', maxRetries: 1.5 }, next: 'done' }),
          ...ends,
        },
      },
      'phases.0.onError.maxRetries',
    ],
    [
      'a state that changes when it is stored',
      { state: z.object({ at: z.date() }) },
      'state: it is stored as JSON',
    ],
    [
      'a state that is transformed',
      { state: z.object({ n: z.string().transform(Number) }) },
      'state: it is stored as JSON',
    ],
  ])('%s', (_what, change, message) => {
    const spec = { ...named, initial: 'work', phases: { work, ...ends }, ...change };
    expect(() => defineAnything(spec)).toThrow(TypeError);
    expect(() => defineAnything(spec)).toThrow(message);
  });

  test('all of it at once', () => {
    const spec = { ...named, state: z.object({ at: z.date() }), initial: 'x', phases: { work } };
    expect(() => defineAnything(spec)).toThrow(
      /state: [\s\S]*next names no phase: done[\s\S]*initial names no phase: x/,
    );
  });
});

describe('the hash of a version', () => {
  const hashOf = (phase: unknown, more: object = {}): string =>
    defineAnything({ ...named, initial: 'work', phases: { work: phase as AnyPhase, ...ends }, ...more }).hash;
  const known = hashOf(agentPhase({ run: () => 1, next: 'done' }));

  test('is the same for the same code', () => {
    expect(hashOf(agentPhase({ run: () => 1, next: 'done' }))).toBe(known);
  });

  test.each<readonly [string, object, object]>([
    ['a function', agentPhase({ run: () => 2, next: 'done' }), {}],
    ['a value', agentPhase({ run: () => 1, next: 'done', timeoutMs: 5 }), {}],
    ['a schema', work, { state: State.extend({ more: z.string().optional() }) }],
    ['what a schema refines', work, { state: State.refine(({ count }) => count >= 0) }],
    ['the build', work, { build: 'abc' }],
    ['the version', work, { version: '2' }],
    [
      'the options of a question',
      humanPhase({
        input: ask.choice(['a']),
        prompt: { title: 'x' },
        onResponse: () => undefined,
        next: 'done',
      }),
      {},
    ],
  ])('is another with another: %s', (_what, phase, more) => {
    expect(hashOf(phase, more)).not.toBe(known);
  });
});
