// Hello as a program: a workflow, its worker and one task, in one file. It holds one effect, which changes one file.
//
//   npm install @holdpoint/sdk zod
//   npx holdpoint dev                             # in another terminal; elsewhere: set HOLDPOINT_RUNNING
//   node .holdpoint/programs/hello.mjs Ada
//   holdpoint approval list                       # the greeting waits here
//
// @ts-check
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectToBus, createClient, defineWorkflow, phasesFor, startWorker } from '@holdpoint/sdk';
import { z } from 'zod';

const State = z.object({ name: z.string(), text: z.string().default('') });
const { agentPhase, effectPhase, terminal } = phasesFor(State);

const hello = defineWorkflow({
  id: 'example.hello',
  version: '1',
  state: State,
  initial: 'write',
  phases: {
    // A step runs once, also when the worker crashes after it.
    write: agentPhase({
      run: async (ctx) => {
        const text = await ctx.step('text', () => `Hello, ${ctx.state.name}.`);
        ctx.update((draft) => void (draft.text = text));
      },
      next: 'greet',
    }),
    // An effect waits for approval, and then happens once. The file is in the workspace of the executor.
    greet: effectPhase({
      effect: ({ text }) => ({
        kind: 'write_external',
        capability: 'cap.file.append',
        args: { file: 'hello.txt', line: text },
        idempotencyKey: 'greet',
      }),
      onRejected: 'refused',
      next: 'done',
    }),
    done: terminal({ output: ({ text }) => text }),
    refused: terminal({ outcome: 'failed', output: () => 'refused' }),
  },
});

// A start of Holdpoint writes this file.
const running = JSON.parse(
  readFileSync(process.env['HOLDPOINT_RUNNING'] ?? '.holdpoint/data/running.json', 'utf8'),
);
/** @param {string} user */
const connectAs = (user) =>
  connectToBus({ url: running.natsUrl, seedFile: join(running.credentials, 'nats', `${user}.seed`), user });

const forWorker = await connectAs('worker');
const worker = startWorker({ connection: forWorker, workflows: [hello] });
await worker.ready;

const forClient = await connectAs('operator');
// The token proves who the requester is.
const client = createClient({ connection: forClient, token: readFileSync(running.tokenFile, 'utf8').trim() });
const task = await client.start(hello, { name: process.argv[2] ?? 'world' });
console.log(`task ${task.id}: decide with holdpoint approval list`);
console.log(await task.result());

await worker.stop();
await Promise.all([forClient.drain(), forWorker.drain()]);
