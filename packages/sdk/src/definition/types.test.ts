import { describe, expectTypeOf, test } from 'vitest';
import type { Json } from '@holdpoint/contracts/values/json';
import { z } from 'zod';
import { ask } from './ask.ts';
import type { ArtifactRef, PhaseContext } from './context.ts';
import { phasesFor } from './phases-for.ts';
import type { NextOf } from './valid-workflow.ts';
import { defineWorkflow, type InputOf, type OutputOf, type StateOf } from './workflow.ts';

const State = z.object({
  topic: z.string(),
  drafts: z.array(z.string()).default([]),
  approved: z.boolean().optional(),
});
const { agentPhase, humanPhase, effectPhase, terminalPhase, terminal } = phasesFor(State);
const named = { id: 'letter', version: '1', state: State } as const;
const done = terminal();

type SeenState = {
  readonly topic: string;
  readonly drafts: readonly string[];
  readonly approved?: boolean | undefined;
};

/** Only compiled, never run. */
const expectNotToCompile = (_body: () => unknown): void => undefined;

describe('types inside a phase', () => {
  test('state, context and output are typed without annotations', () => {
    agentPhase({
      guard: (state) => {
        expectTypeOf(state).toEqualTypeOf<SeenState>();
        return state.drafts.length === 0;
      },
      before: (context) => expectTypeOf(context.state).toEqualTypeOf<SeenState>(),
      run: async (context) => {
        expectTypeOf(context).toEqualTypeOf<PhaseContext<z.output<typeof State>, z.input<typeof State>>>();
        expectTypeOf(context.input.drafts).toEqualTypeOf<readonly string[] | undefined>();
        const length = await context.step('count', () => context.state.drafts.length);
        expectTypeOf(length).toEqualTypeOf<number>();
        expectTypeOf(await context.artifact('notes', 'text')).toEqualTypeOf<ArtifactRef>();
        return { words: length };
      },
      after: (context, output) => {
        expectTypeOf(output).toEqualTypeOf<{ words: number }>();
        context.update((draft) => {
          expectTypeOf(draft.drafts).toEqualTypeOf<string[]>();
          draft.drafts.push(String(output.words));
        });
      },
      next: (state, output) => {
        expectTypeOf(state).toEqualTypeOf<SeenState>();
        // The guard may have skipped the phase.
        expectTypeOf(output).toEqualTypeOf<{ words: number } | undefined>();
        return output === undefined ? 'skipped' : 'counted';
      },
    });
  });

  test('without a guard there is always an output', () => {
    agentPhase({
      run: () => 42,
      next: (_state, output) => {
        expectTypeOf(output).toEqualTypeOf<number>();
        return 'done';
      },
    });
  });

  test('items are typed, their outputs form a list, and they cannot change the state', () => {
    agentPhase({
      forEach: (state) => state.drafts.map((text, index) => ({ text, index })),
      run: (context, item, index) => {
        expectTypeOf(item).toEqualTypeOf<{ text: string; index: number }>();
        expectTypeOf(index).toEqualTypeOf<number>();
        expectTypeOf(context).not.toHaveProperty('update');
        return item.text.length;
      },
      after: (_context, outputs) => expectTypeOf(outputs).toEqualTypeOf<number[]>(),
      next: (_state, outputs) => {
        expectTypeOf(outputs).toEqualTypeOf<number[]>();
        return 'done';
      },
    });
  });

  test('until receives the typed output of a round', () => {
    agentPhase({
      run: () => ({ score: 0.5 }),
      until: (state, output) => {
        expectTypeOf(state).toEqualTypeOf<SeenState>();
        expectTypeOf(output).toEqualTypeOf<{ score: number }>();
        return output.score > 0.9;
      },
      next: 'done',
    });
  });

  test('until receives the typed outputs of a round of items', () => {
    agentPhase({
      forEach: (state) => state.drafts,
      run: (_context, item) => item.length,
      after: (context, outputs) => {
        expectTypeOf(outputs).toEqualTypeOf<number[]>();
        context.update((draft) => void draft.drafts.pop());
      },
      until: (state, outputs) => {
        expectTypeOf(state).toEqualTypeOf<SeenState>();
        expectTypeOf(outputs).toEqualTypeOf<number[]>();
        return outputs.every((length) => length > 3);
      },
      next: 'done',
    });
  });

  test('a retry needs no number', () => {
    const phase = agentPhase({ run: () => 1, onError: { strategy: 'retry' }, next: 'done' });
    expectTypeOf<NextOf<typeof phase>>().toEqualTypeOf<'done'>();
  });

  test('the prompt of a phase that pauses also gets an error without an output', () => {
    agentPhase({
      run: () => ({ words: 3 }),
      onError: { strategy: 'pause', onRetry: (_error, draft) => void draft.drafts.pop() },
      human: {
        input: ask.approval(),
        prompt: (_state, output, error) => {
          expectTypeOf(output).toEqualTypeOf<{ words: number } | undefined>();
          expectTypeOf(error?.fromPhase).toEqualTypeOf<string | undefined>();
          return { title: error === undefined ? 'Good?' : `${error.toPhase} failed: ${error.message}` };
        },
        onResponse: () => undefined,
      },
      next: (_state, output) => {
        expectTypeOf(output).toEqualTypeOf<{ words: number }>();
        return 'done';
      },
    });
    agentPhase({
      run: () => ({ words: 3 }),
      onError: { strategy: 'retry', maxRetries: 2 },
      human: {
        input: ask.approval(),
        prompt: (_state, output) => {
          expectTypeOf(output).toEqualTypeOf<{ words: number }>();
          return { title: String(output.words) };
        },
        onResponse: () => undefined,
      },
      next: 'done',
    });
  });

  test('the parts of a human phase are typed', () => {
    humanPhase({
      guard: (state, context) => {
        expectTypeOf(state).toEqualTypeOf<SeenState>();
        expectTypeOf(context).not.toHaveProperty('update');
        return state.drafts.length > 0;
      },
      before: (context) => context.update((draft) => void draft.drafts.pop()),
      input: ask.choice(['keep', 'drop']),
      prompt: { title: 'What now?' },
      onResponse: () => undefined,
      after: (context, response) => {
        expectTypeOf(context.state).toEqualTypeOf<SeenState>();
        expectTypeOf(response).toEqualTypeOf<'keep' | 'drop'>();
      },
      next: (_state, response) => {
        // The guard may have skipped the question.
        expectTypeOf(response).toEqualTypeOf<'keep' | 'drop' | undefined>();
        return 'done';
      },
    });
  });

  test('an effect is typed by the schema of its result', () => {
    effectPhase({
      effect: () => ({
        kind: 'deploy',
        capability: 'cap.http.request',
        args: { url: 'https://example.com' },
        idempotencyKey: 'k',
        result: z.object({ status: z.number() }),
      }),
      before: (context) => context.update((draft) => void draft.drafts.pop()),
      onResult: (outputs, draft) => {
        expectTypeOf(outputs).toEqualTypeOf<{ status: number }>();
        draft.approved = outputs.status === 200;
      },
      after: (_context, outputs) => expectTypeOf(outputs).toEqualTypeOf<{ status: number }>(),
      onRejected: 'refused',
      next: (state) => {
        expectTypeOf(state).toEqualTypeOf<SeenState>();
        return 'done';
      },
    });
  });

  test('a state may contain any JSON', () => {
    const Any = z.object({ found: z.json().optional(), by: z.record(z.string(), z.json()).default({}) });
    const phases = phasesFor(Any);
    const look = phases.agentPhase({
      run: async (context) => {
        expectTypeOf(context.state.found).toEqualTypeOf<Json | undefined>();
        context.update((draft) => {
          draft.found = { deep: [1, 'two', null] };
        });
        return context.step('s', () => context.state.by);
      },
      next: (state) => (state.found === undefined ? 'look' : 'done'),
    });
    defineWorkflow({
      ...named,
      state: Any,
      initial: 'look',
      phases: { look, done: phases.terminal({ output: (state) => state.found }) },
    });
  });

  test('onRetry receives a draft of the state', () => {
    agentPhase({
      run: () => undefined,
      onError: {
        strategy: 'retry',
        maxRetries: 2,
        onRetry: (error, draft) => {
          expectTypeOf(error.attempt).toEqualTypeOf<number>();
          draft.drafts = [];
        },
      },
      next: 'done',
    });
  });
});

describe('types of answers', () => {
  test('an approval answers with a boolean', () => {
    humanPhase({
      input: ask.approval(),
      prompt: (state, error) => {
        expectTypeOf(state).toEqualTypeOf<SeenState>();
        expectTypeOf(error?.message).toEqualTypeOf<string | undefined>();
        return { title: state.topic };
      },
      onResponse: (response, draft) => {
        expectTypeOf(response).toEqualTypeOf<boolean>();
        draft.approved = response;
      },
      next: (_state, response) => (response ? 'done' : 'again'),
    });
  });

  test('a choice answers with one of its values', () => {
    humanPhase({
      input: ask.choice(['keep', { value: 'drop', label: 'Drop it' }]),
      prompt: { title: 'What now?' },
      onResponse: (response) => expectTypeOf(response).toEqualTypeOf<'keep' | 'drop'>(),
      next: 'done',
    });
  });

  test('a choice from the state answers with a string', () => {
    humanPhase({
      input: ask.choice((state) => state.drafts),
      prompt: { title: 'Which?' },
      onResponse: (response) => expectTypeOf(response).toEqualTypeOf<string>(),
      next: 'done',
    });
  });

  test('a text question answers with a string', () => {
    humanPhase({
      input: ask.text({ maxLength: 100 }),
      prompt: { title: 'Why?' },
      onResponse: (response) => expectTypeOf(response).toEqualTypeOf<string>(),
      next: 'done',
    });
  });

  test('a form answers with the output of its schema', () => {
    agentPhase({
      run: () => ['a draft'],
      human: {
        input: ask.form(z.object({ tone: z.enum(['kind', 'firm']), urgent: z.boolean().default(false) })),
        prompt: (_state, output) => {
          expectTypeOf(output).toEqualTypeOf<string[]>();
          return output.length === 0 ? undefined : { title: 'How?', body: output.join('\n') };
        },
        onResponse: (response) =>
          expectTypeOf(response).toEqualTypeOf<{ tone: 'kind' | 'firm'; urgent: boolean }>(),
      },
      next: (_state, _output, response) => {
        expectTypeOf(response).toEqualTypeOf<{ tone: 'kind' | 'firm'; urgent: boolean } | undefined>();
        return 'done';
      },
    });
  });
});

describe('a workflow', () => {
  test('a workflow is typed by its state, its input and its result', () => {
    const workflow = defineWorkflow({
      ...named,
      initial: 'write',
      phases: {
        write: agentPhase({ run: () => 1, next: (state) => (state.approved === true ? 'good' : 'bad') }),
        good: terminalPhase({ output: (state) => ({ drafts: state.drafts.length }) }),
        bad: terminalPhase({ outcome: 'failed', output: () => 'nothing' }),
      },
    });
    expectTypeOf<StateOf<typeof workflow>>().toEqualTypeOf<SeenState>();
    expectTypeOf<InputOf<typeof workflow>>().toEqualTypeOf<{
      topic: string;
      drafts?: string[] | undefined;
      approved?: boolean | undefined;
    }>();
    expectTypeOf<OutputOf<typeof workflow>>().toEqualTypeOf<string | { drafts: number }>();
  });

  test('a workflow may loop as long as an end is reachable', () => {
    const round = defineWorkflow({
      ...named,
      initial: 'a',
      phases: {
        a: agentPhase({ run: () => 1, next: 'b' }),
        b: agentPhase({ run: () => 1, next: (_state, output) => (output > 1 ? 'a' : 'done') }),
        done,
      },
    });
    expectTypeOf<OutputOf<typeof round>>().toEqualTypeOf<undefined>();
  });
});

describe('compiler errors', () => {
  const work = agentPhase({ run: () => 1, next: 'done' });

  test('an unknown initial phase does not compile', () =>
    expectNotToCompile(() =>
      defineWorkflow({
        ...named,
        // @ts-expect-error -- unknown phase
        initial: 'wrok',
        // @ts-expect-error -- no reachable end
        phases: { work, done },
      }),
    ));

  test('an unknown next phase does not compile', () =>
    expectNotToCompile(() =>
      defineWorkflow({
        ...named,
        initial: 'work',
        phases: {
          // @ts-expect-error -- unknown phase
          work: agentPhase({ run: () => 1, next: 'odne' }),
          // @ts-expect-error -- the function returns an unknown phase
          other: agentPhase({ run: () => 1, next: (_state, output) => (output > 1 ? 'done' : 'odne') }),
          // @ts-expect-error -- unknown phase in another route
          third: effectPhase({
            effect: () => ({ kind: 'other', capability: 'cap.x', args: {}, idempotencyKey: 'k' }),
            onRejected: 'odne',
            next: 'done',
          }),
          done,
        },
      }),
    ));

  test('a workflow without a reachable end does not compile', () =>
    expectNotToCompile(() => {
      // @ts-expect-error -- no terminal phase
      defineWorkflow({ ...named, initial: 'a', phases: { a: agentPhase({ run: () => 1, next: 'a' }) } });
      defineWorkflow({
        ...named,
        initial: 'a',
        // @ts-expect-error -- the terminal phase is unreachable
        phases: { a: agentPhase({ run: () => 1, next: 'a' }), done },
      });
    }));

  test('a question without onResponse does not compile', () =>
    expectNotToCompile(() => {
      // @ts-expect-error -- onResponse is needed
      humanPhase({ input: ask.approval(), prompt: { title: 'Well?' }, next: 'done' });
      agentPhase({
        run: () => 1,
        // @ts-expect-error -- onResponse is needed here as well
        human: { input: ask.approval(), prompt: { title: 'Well?' } },
        next: 'done',
      });
    }));

  test('a phase of another state does not compile', () =>
    expectNotToCompile(() => {
      const other = phasesFor(z.object({ topic: z.number() }));
      defineWorkflow({
        ...named,
        initial: 'work',
        // @ts-expect-error -- a phase of another state
        phases: { work: other.agentPhase({ run: () => 1, next: 'done' }), done },
      });
    }));

  test('a state change outside of a draft does not compile', () =>
    expectNotToCompile(() => {
      agentPhase({
        run: (context) => {
          // @ts-expect-error -- the state is read-only
          context.state.topic = 'x';
          // @ts-expect-error -- deeply read-only
          context.state.drafts[0] = 'x';
        },
        next: 'done',
      });
    }));

  test('an unknown strategy and a text as a number of retries do not compile', () =>
    expectNotToCompile(() => {
      // @ts-expect-error -- unknown strategy
      agentPhase({ run: () => 1, onError: { strategy: 'hope' }, next: 'done' });
      // @ts-expect-error -- maxRetries is a number
      agentPhase({ run: () => 1, onError: { strategy: 'retry', maxRetries: '2' }, next: 'done' });
      // @ts-expect-error -- a failed task has no retries
      agentPhase({ run: () => 1, onError: { strategy: 'fail', maxRetries: 2 }, next: 'done' });
    }));

  test('a guard that returns no boolean does not compile', () =>
    expectNotToCompile(() => {
      // @ts-expect-error -- a guard returns a boolean
      agentPhase({ guard: () => 'yes', run: () => 1, next: 'done' });
      humanPhase({
        // @ts-expect-error -- a guard returns a boolean
        guard: () => 'yes',
        input: ask.approval(),
        prompt: { title: 'Well?' },
        onResponse: () => undefined,
        next: 'done',
      });
    }));

  test('an unknown phase type does not compile', () =>
    expectNotToCompile(() => {
      // @ts-expect-error -- unknown phase type
      defineWorkflow({ ...named, initial: 'a', phases: { a: { type: 'robot', spec: {} }, done } });
    }));
});
