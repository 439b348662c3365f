import { defineWorkflow } from '@holdpoint/sdk/definition/workflow';
import { ask } from '@holdpoint/sdk/definition/ask';
import type { EffectRequest, ItemContext } from '@holdpoint/sdk/definition/context';
import { phasesFor } from '@holdpoint/sdk/definition/phases-for';
import type { Workflow } from '@holdpoint/sdk/definition/workflow';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import { z } from 'zod';
import type { Choices } from '../choices.ts';
import { argumentsFor, kindOf } from './graph-nodes.ts';

/** The phases in order. The input of a program states which of them it visits. */
const PHASES = [
  'work',
  'tries',
  'pauses',
  'each',
  'rounds',
  'maybe',
  'asks',
  'review',
  'pick',
  'act',
] as const;
type PhaseName = (typeof PHASES)[number];

export const Item = z.object({
  phase: z.enum(PHASES),
  steps: z.int(),
  napMs: z.int(),
  /** Attempts that fail. */
  fails: z.int(),
  artifact: z.boolean(),
  /** The key of an effect and its capability. */
  key: z.string().optional(),
  uses: z.string(),
});
export type Item = z.infer<typeof Item>;

export const ProgramState = z.object({
  plan: z.array(Item),
  at: z.int().default(0),
  log: z.array(z.string()).default([]),
  tries: z.int().default(0),
});
export type ProgramState = z.infer<typeof ProgramState>;

/** Capabilities with simple effects whose arguments are unique. */
const USES = ['cap.http.request', 'cap.file.append', 'cap.notify.webhook'] as const;
export const OPTIONS = ['left', 'right'] as const;
const EXPIRES_MS = 25_000;

const itemAt = ({ plan, at }: { readonly plan: readonly Item[]; readonly at: number }): Item => {
  const item = plan[at];
  if (item === undefined) throw new Error('the plan is over');
  return item;
};

const following = ({
  plan,
  at,
}: {
  readonly plan: readonly Item[];
  readonly at: number;
}): PhaseName | 'batches' | 'done' => {
  const { phase = 'done', steps = 0 } = plan[at] ?? {};
  return phase === 'each' && steps === ITEMS_IN_ROUNDS ? 'batches' : phase;
};

/** With so many items, they run in rounds. */
const ITEMS_IN_ROUNDS = 3;
const isEnough = ([first]: readonly string[]): boolean => Number(first) % 2 === 0;

export const effectFor = ({ key = 'k', uses }: Item): EffectRequest => ({
  kind: kindOf(uses),
  capability: uses,
  args: argumentsFor(uses, key),
  target: `simulated:${key}`,
  idempotencyKey: key,
  approvalTimeoutMs: 60_000,
});

/** The work of an item. Its result follows from its records alone. */
const doItem = async (
  ctx: ItemContext<ProgramState>,
  made: (place: string) => string,
): Promise<readonly string[]> => {
  const item = itemAt(ctx.state);
  const lines: string[] = [];
  for (let i = 0; i < item.steps; i += 1)
    lines.push(await ctx.step(`s${String(i)}`, () => made(`${ctx.task} ${String(ctx.visit)} ${String(i)}`)));
  if (item.fails >= ctx.attempt) throw new Error('not yet');
  if (item.napMs > 0) await ctx.sleep(item.napMs, 'nap');
  if (item.artifact) lines.push((await ctx.artifact('a', `${ctx.task} ${String(ctx.visit)}`)).sha256);
  if (item.key !== undefined) {
    await ctx.effect(effectFor(item));
    lines.push('did');
  }
  return lines;
};

/** A program whose version decides whether a worker runs it. Each run of a step returns another value. */
export const simulatedProgram = (choices: Choices, version: string): Workflow => {
  const { agentPhase, humanPhase, effectPhase, terminalPhase } = phasesFor(ProgramState);
  const made = (place: string): string => String(Math.floor(choices.number(`made ${place}`) * 1e9));
  const retry = { strategy: 'retry', maxRetries: 2, delayMs: 700, onRetry: again } as const;
  const run = async (ctx: ItemContext<ProgramState> & { readonly update: Update }): Promise<void> => {
    const lines = await doItem(ctx, made);
    ctx.update((draft) => {
      draft.log.push(...lines);
      draft.at += 1;
    });
  };
  const hook =
    (name: string) =>
    async (ctx: ItemContext<ProgramState> & { readonly update: Update }): Promise<void> => {
      const line = await ctx.step(name, () => made(`${ctx.task} ${String(ctx.visit)} ${name}`));
      ctx.update((draft) => void draft.log.push(line));
    };
  return defineWorkflow({
    id: 'simulated-program',
    version,
    state: ProgramState,
    initial: 'start',
    snapshotEvery: 2,
    phases: {
      start: agentPhase({ run: () => undefined, next: (state) => following(state as ProgramState) }),
      work: agentPhase({ run, next: (state) => following(state as ProgramState) }),
      tries: agentPhase({ run, onError: retry, next: (state) => following(state as ProgramState) }),
      pauses: agentPhase({
        run,
        onError: { strategy: 'pause', maxRetries: 4, onRetry: again },
        next: (state) => following(state as ProgramState),
      }),
      each: agentPhase({
        forEach: (state) => Array.from({ length: itemAt(state as ProgramState).steps }, (_, at) => at),
        parallel: 2,
        run: (ctx, at: number) =>
          ctx.step('s', () => made(`${ctx.task} ${String(ctx.visit)} each ${String(at)}`)),
        after: (ctx, outputs) =>
          ctx.update((draft) => {
            draft.log.push(...outputs);
            draft.at += 1;
          }),
        next: (state) => following(state as ProgramState),
      }),
      batches: agentPhase({
        forEach: (state) => Array.from({ length: itemAt(state as ProgramState).steps }, (_, at) => at),
        parallel: 2,
        run: (ctx, at: number) =>
          ctx.step('s', () => made(`${ctx.task} ${String(ctx.visit)} batch ${String(at)}`)),
        after: (ctx, outputs) =>
          ctx.update((draft) => {
            draft.log.push(...outputs);
            if (isEnough(outputs)) draft.at += 1;
          }),
        until: (_state, outputs) => isEnough(outputs),
        onError: { strategy: 'retry', maxRetries: 3, delayMs: 300 },
        next: (state) => following(state as ProgramState),
      }),
      rounds: agentPhase({
        run: (ctx) => {
          const value = made(`${ctx.task} ${String(ctx.visit)} round`);
          ctx.update((draft) => void draft.log.push(value));
          return value;
        },
        until: (_state, output) => Number(output) % 2 === 0,
        after: (ctx) => ctx.update((draft) => void (draft.at += 1)),
        onError: { strategy: 'retry', maxRetries: 3, delayMs: 300 },
        next: (state) => following(state as ProgramState),
      }),
      maybe: agentPhase({
        guard: (state) => itemAt(state as ProgramState).steps % 2 === 1,
        run: async (ctx) => {
          await run(ctx);
          return 'was wanted';
        },
        next: (state, output) => (output === undefined ? 'skipped' : following(state as ProgramState)),
      }),
      skipped: agentPhase({
        run: (ctx) =>
          ctx.update((draft) => {
            draft.log.push('skipped');
            draft.at += 1;
          }),
        next: (state) => following(state as ProgramState),
      }),
      asks: agentPhase({
        run: async (ctx) => {
          const lines = await doItem(ctx, made);
          ctx.update((draft) => void draft.log.push(...lines));
        },
        human: {
          input: ask.text(),
          prompt: { title: 'What is its name?' },
          expiresMs: EXPIRES_MS,
          onExpired: 'dropped',
          onResponse: said,
        },
        onError: retry,
        next: (state) => following(state as ProgramState),
      }),
      review: humanPhase({
        guard: (state) => itemAt(state as ProgramState).steps > 0,
        before: hook('before'),
        input: ask.approval(),
        prompt: { title: 'Continue?' },
        expiresMs: EXPIRES_MS,
        onExpired: 'dropped',
        onResponse: said,
        after: hook('after'),
        next: (state, yes) =>
          yes === undefined ? 'skipped' : yes ? following(state as ProgramState) : 'dropped',
      }),
      pick: humanPhase({
        input: ask.choice(OPTIONS),
        prompt: { title: 'Which way?' },
        expiresMs: EXPIRES_MS,
        onResponse: said,
        onError: retry,
        next: (state) => following(state as ProgramState),
      }),
      act: effectPhase({
        effect: (state) => effectFor(itemAt(state as ProgramState)),
        onResult: (_outputs, draft) => {
          draft.log.push('acted');
          draft.at += 1;
        },
        onRejected: 'dropped',
        onError: retry,
        next: (state) => following(state as ProgramState),
      }),
      done: terminalPhase({ output: (state) => state.log.length }),
      dropped: terminalPhase({ outcome: 'failed' }),
    },
  });
};

type Draft = { at: number; tries: number; log: string[] };
type Update = (recipe: (draft: Draft) => void) => void;
const again = (_error: unknown, draft: Draft): void => void (draft.tries += 1);
const said = (response: unknown, draft: Draft): void => {
  draft.log.push(JSON.stringify(response));
  draft.at += 1;
};

const ITEMS_MAX = 4;
const NAP_MS = 20_000;
const HAS_NO_WORKER = 0.08;
/** A version that no worker has. */
const NOBODYS = '2';
export const VERSIONS = ['1', NOBODYS] as const;

const randomItem = (choices: Choices, place: string): Item => {
  const chance = (what: string, probability: number): boolean =>
    choices.happens(`${what} ${place}`, probability);
  const phase = choices.pick(`phase ${place}`, PHASES);
  const mayFail = phase === 'tries' || phase === 'pauses' || phase === 'asks';
  return {
    phase,
    steps: Math.floor(choices.number(`steps ${place}`) * 4),
    napMs: chance('naps', 0.3) ? Math.floor(choices.number(`nap ${place}`) ** 2 * NAP_MS) : 0,
    fails: mayFail && chance('fails', 0.4) ? 1 + Math.floor(choices.number(`failures ${place}`) * 3) : 0,
    artifact: chance('artifact', 0.15),
    ...((phase === 'act' || chance('acts', 0.35)) && {
      // Few keys, so that some are requested again.
      key: choices.pick(`key ${place}`, ['k1', 'k2', 'k3']),
    }),
    uses: '',
  };
};

export const randomProgram = (
  choices: Choices,
  task: string,
  programs: readonly Workflow[],
): Omit<SubmitTask, 'id'> => {
  const count = 1 + Math.floor(choices.number(`phases of ${task}`) * ITEMS_MAX);
  const uses = choices.pick(`uses of ${task}`, USES);
  const plan = Array.from({ length: count }, (_, at) => ({
    ...randomItem(choices, `${task} ${String(at)}`),
    uses,
  }));
  const version = choices.happens(`nobody has ${task}`, HAS_NO_WORKER) ? NOBODYS : '1';
  const program = programs.find((each) => each.version === version);
  if (program === undefined) throw new Error(`there is no version ${version}`);
  return {
    workflow: `${program.id}@${version}`,
    goal: `do ${task}`,
    requestedBy: choices.pick(`requester of ${task}`, ['ada', 'linus', 'somebody']),
    program: program.definition,
    inputs: { plan } as unknown as JsonObject,
  };
};
