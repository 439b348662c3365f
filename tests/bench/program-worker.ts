import { connectAs } from '@holdpoint/infra/nats/connect';
import { ask, defineWorkflow, phasesFor, startWorker } from '@holdpoint/sdk';
import { z } from 'zod';
import { HOPS, HOPS_PROGRAM, THREE_PROGRAM } from './program-names.ts';

// The bench worker in its own process.
const [url = '', credentialsDir = ''] = process.argv.slice(2);

const State = z.object({
  text: z.string().default(''),
  approved: z.boolean().default(false),
  hops: z.int().default(0),
});
const { agentPhase, humanPhase, effectPhase, terminalPhase } = phasesFor(State);

/** An agent phase, a question and an effect without work. */
const three = defineWorkflow({
  id: THREE_PROGRAM,
  version: '1',
  state: State,
  initial: 'draft',
  phases: {
    draft: agentPhase({ run: (ctx) => ctx.update((draft) => void (draft.text = 'a line')), next: 'review' }),
    review: humanPhase({
      input: ask.approval(),
      prompt: (state) => ({ title: `Write "${state.text}"?` }),
      onResponse: (yes, draft) => void (draft.approved = yes),
      next: 'publish',
    }),
    publish: effectPhase({
      effect: (state) => ({
        kind: 'other',
        capability: 'cap.custom.bench_noop',
        effectClass: 'idempotent',
        args: { text: state.text },
        idempotencyKey: 'publish',
        target: 'bench',
      }),
      next: 'done',
    }),
    done: terminalPhase({ output: (state) => state.text }),
  },
});

/** Phases without work. */
const hops = defineWorkflow({
  id: HOPS_PROGRAM,
  version: '1',
  state: State,
  initial: 'hop',
  phases: {
    hop: agentPhase({
      run: (ctx) => ctx.update((draft) => void (draft.hops += 1)),
      next: (state) => (state.hops < HOPS ? 'hop' : 'done'),
    }),
    done: terminalPhase({ output: (state) => state.hops }),
  },
});

const connection = await connectAs({ url, credentialsDir, user: 'worker' });
const worker = startWorker({ connection, workflows: [three, hops], concurrency: 100 });
await worker.ready;
process.stdout.write('ready\n');
await worker.stopped;
await connection.close();
