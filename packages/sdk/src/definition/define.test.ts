import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agentPhase, effectPhase, ends, humanPhase, State } from '../testing/fixture.ts';
import { ask } from './ask.ts';
import type { AnyPhase } from './phase.ts';
import { defineWorkflow, type Workflow } from './workflow.ts';

const work = agentPhase({ run: () => 1, next: 'done' });
const named = { id: 'letter', version: '1', state: State } as const;

/** Without types, as in JavaScript. */
const defineAnything = defineWorkflow as unknown as (spec: object) => Workflow;

describe('the registered definition', () => {
  test('the registered definition contains all data of a workflow', () => {
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

describe('problems that the compiler has not found', () => {
  test.each<readonly [string, object, string]>([
    ['an invalid id', { id: 'a letter' }, 'id: letters, digits'],
    [
      'a phase name that no subject allows',
      { phases: { 'a.b': work, ...ends }, initial: 'a.b' },
      'phases.0.id',
    ],
    ['an unknown initial phase', { initial: 'wrok' }, 'initial names no phase: wrok'],
    [
      'an unknown next phase',
      { phases: { work: agentPhase({ run: () => 1, next: 'odne' }), ...ends } },
      'phases.work: next names no phase: odne',
    ],
    [
      'no reachable end',
      { phases: { work: agentPhase({ run: () => 1, next: 'work' }), ...ends } },
      'no terminal phase can be reached from work',
    ],
    [
      'a phase without work',
      { phases: { work: { type: 'agent', spec: { next: 'done' } }, ...ends } },
      'run must be a function',
    ],
    [
      'a phase without next',
      { phases: { work: { type: 'agent', spec: { run: () => 1 } }, ...ends } },
      'next must be a name or a function',
    ],
    [
      'a question without onResponse',
      {
        phases: {
          work: { type: 'human', spec: { input: ask.text(), prompt: { title: 'x' }, next: 'done' } },
          ...ends,
        },
      },
      'onResponse must be a function',
    ],
    [
      'an unlimited parallel',
      { phases: { work: agentPhase({ run: () => 1, parallel: 101, next: 'done' }), ...ends } },
      'parallel must be 1 to 100',
    ],
    [
      'a fraction of retries',
      {
        phases: {
          work: agentPhase({ run: () => 1, onError: { strategy: 'retry', maxRetries: 1.5 }, next: 'done' }),
          ...ends,
        },
      },
      'phases.0.onError.maxRetries',
    ],
    [
      'a state that JSON cannot represent',
      { state: z.object({ at: z.date() }) },
      'state: not representable as JSON',
    ],
    [
      'a state with a transformation',
      { state: z.object({ n: z.string().transform(Number) }) },
      'state: not representable as JSON',
    ],
  ])('a workflow is refused: %s', (_what, change, message) => {
    const spec = { ...named, initial: 'work', phases: { work, ...ends }, ...change };
    expect(() => defineAnything(spec)).toThrow(TypeError);
    expect(() => defineAnything(spec)).toThrow(message);
  });

  test('defineWorkflow reports all problems at once', () => {
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

  test('the hash is the same for functions that a bundler has written anew', () => {
    const bundled = agentPhase({
      run: function () {
        return 0 + 1;
      },
      next: 'done',
    });
    expect(hashOf(bundled)).toBe(known);
  });

  test.each<readonly [string, object, object]>([
    ['a new function', agentPhase({ run: () => 1, after: () => undefined, next: 'done' }), {}],
    ['a function in place of a name', agentPhase({ run: () => 1, next: () => 'done' as const }), {}],
    ['a value', agentPhase({ run: () => 1, next: 'done', timeoutMs: 5 }), {}],
    ['a schema', work, { state: State.extend({ more: z.string().optional() }) }],
    ['a limit of the schema', work, { state: State.extend({ count: z.number().min(1) }) }],
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
  ])('the hash changes with: %s', (_what, phase, more) => {
    expect(hashOf(phase, more)).not.toBe(known);
  });
});
