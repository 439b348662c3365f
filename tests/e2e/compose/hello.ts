import { defineWorkflow, phasesFor } from '@holdpoint/sdk';
import { z } from 'zod';

const State = z.object({ line: z.string() });
const { agentPhase, effectPhase, terminal } = phasesFor(State);

/** A program whose worker runs in a container. The container runs the text of this file, so it is JavaScript too. */
export const hello = defineWorkflow({
  id: 'compose.hello',
  version: '1',
  state: State,
  initial: 'write',
  phases: {
    write: agentPhase({
      run: async (ctx) => {
        const line = await ctx.step('line', () => ctx.state.line.toUpperCase());
        ctx.update((draft) => void (draft.line = line));
      },
      next: 'append',
    }),
    append: effectPhase({
      effect: ({ line }) => ({
        kind: 'write_external',
        capability: 'cap.file.append',
        args: { file: 'worker.txt', line },
        idempotencyKey: 'append',
      }),
      onRejected: 'refused',
      next: 'done',
    }),
    done: terminal({ output: ({ line }) => line }),
    refused: terminal({ outcome: 'failed' }),
  },
});
