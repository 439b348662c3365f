import { defineWorkflow, EffectFailed, EffectRejected, type EffectRequest, phasesFor } from '@holdpoint/sdk';
import { z } from 'zod';
import type { Store } from './store.ts';

const Batch = z.object({ from: z.int(), to: z.int() });
type Batch = z.output<typeof Batch>;

const State = z.object({
  table: z.string().regex(/^[a-z_]{1,40}$/),
  batchSize: z.int().min(1).default(250),
  /** Batches still to move, in order. */
  waiting: z.array(Batch).default([]),
  /** Moved batches, in order of completion. */
  moved: z.array(Batch).default([]),
  /** The reason for giving up. */
  problem: z.string().default(''),
});
type State = z.output<typeof State>;
const { agentPhase, terminal } = phasesFor(State);

/** Batches at the same time. The state is checked after each wave. */
const WIDTH = 3;

const batches = (rows: number, size: number): Batch[] =>
  Array.from({ length: Math.ceil(rows / size) }, (_, index) => ({
    from: index * size,
    to: Math.min((index + 1) * size, rows),
  }));

const move = ({ table }: Pick<State, 'table'>, { from }: Batch, line: string): EffectRequest => ({
  kind: 'write_external',
  capability: 'cap.file.append',
  args: { file: `${table}.txt`, line },
  target: `file:${table}.txt`,
  // The same for every attempt and worker, so that a batch moves once.
  idempotencyKey: `move:${String(from)}`,
  title: `Move the batch from row ${String(from)} of ${table}`,
});

const takeBack = ({ table }: Pick<State, 'table'>, { from, to }: Batch): EffectRequest => ({
  kind: 'destructive_edit',
  capability: 'cap.file.append',
  args: { file: `${table}.txt`, line: `${table} ${String(from)} to ${String(to)}, reverted` },
  target: `file:${table}.txt`,
  idempotencyKey: `take-back:${String(from)}`,
  title: `Revert the batch from row ${String(from)} of ${table}`,
});

/** Moves a table batch by batch. When a batch fails, the moved ones are reverted, latest first. */
export const dataMigration = (store: Store) =>
  defineWorkflow({
    id: 'data-migration',
    version: '1',
    build: store.version,
    state: State,
    initial: 'split',
    phases: {
      split: agentPhase({
        run: async (ctx) => {
          const rows = await ctx.step('count', () => store.count(ctx.state.table));
          ctx.update((draft) => void (draft.waiting = batches(rows, draft.batchSize)));
        },
        onError: { strategy: 'retry', maxRetries: 3, backoff: 'exponential' },
        next: 'migrate',
      }),
      migrate: agentPhase({
        guard: (state) => state.waiting.length > 0,
        forEach: (state) => state.waiting.slice(0, WIDTH),
        parallel: WIDTH,
        run: async (ctx, batch) => {
          const { table } = ctx.state;
          const line = await ctx.step('transform', () => store.transform(table, batch.from, batch.to));
          try {
            await ctx.effect(move(ctx.state, batch, line));
            return { batch };
          } catch (error) {
            // The batch did not move, and recovery has given up. Other errors are not handled here.
            if (error instanceof EffectRejected || error instanceof EffectFailed)
              return { batch, problem: error.message };
            throw error;
          }
        },
        after: (ctx, outcomes) =>
          ctx.update((draft) => {
            draft.waiting.splice(0, outcomes.length);
            draft.moved.push(
              ...outcomes.filter(({ problem }) => problem === undefined).map(({ batch }) => batch),
            );
            draft.problem = outcomes.find(({ problem }) => problem !== undefined)?.problem ?? '';
          }),
        onError: { strategy: 'retry', maxRetries: 3, backoff: 'exponential' },
        next: (state) => (state.problem !== '' ? 'roll_back' : state.waiting.length > 0 ? 'migrate' : 'done'),
      }),
      roll_back: agentPhase({
        // Latest first, one after the other; each is an effect with its own approval.
        forEach: (state) => state.moved.toReversed(),
        run: async (ctx, batch) => {
          await ctx.effect(takeBack(ctx.state, batch));
          return batch.from;
        },
        // Half a rollback is worse than none, so an operator decides about another attempt. Reverted batches
        // stay reverted.
        onError: {
          strategy: 'pause',
          prompt: (error, { table }) => ({
            title: `The rollback of ${table} has failed. Try again?`,
            body: error.message,
          }),
        },
        next: 'rolled_back',
      }),
      done: terminal({ output: ({ table, moved }) => ({ table, batches: moved.length }) }),
      rolled_back: terminal({
        outcome: 'failed',
        output: ({ problem, moved }) => ({ problem, takenBack: moved.length }),
      }),
    },
  });
