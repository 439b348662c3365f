import type { ConnectAs } from '../nats/connect.ts';
import type { ProvisionOptions } from '../postgres/provision.ts';
import type { Greeting, Settlement } from './greet.ts';
import type { NatsConfig } from './nats/configured-nats.ts';
import type { NatsProgram } from './nats/nats-program.ts';
import { describeFailure } from './problem.ts';
import { createProgress } from './progress.ts';
import type { Progress } from './progress.ts';
import type { SampleTask } from './sample-task.ts';

// The program of one step of a start. Each step loads only its own libraries.

const steps = {
  credentials: async (folder: string): Promise<void> => {
    const { generateCredentials } = await import('../credentials/generate.ts');
    await generateCredentials(folder);
  },
  checkNats: async (server: Omit<ConnectAs, 'user'>): Promise<void> => {
    const { checkNats } = await import('./nats/check-nats.ts');
    await checkNats(server);
  },
  prepareNats: async (config: Omit<NatsConfig, 'program'>, progress: Progress): Promise<NatsProgram> => {
    const { findNats, natsSearchOf } = await import('./nats/nats-program.ts');
    const { writeNatsConfig } = await import('./nats/configured-nats.ts');
    const leave = new AbortController();
    // A start removes a partial download before it ends.
    process.once('SIGTERM', () => leave.abort());
    const program = await findNats({ ...natsSearchOf(process.env), signal: leave.signal }, progress);
    await writeNatsConfig({ ...config, program });
    return program;
  },
  database: async (options: ProvisionOptions): Promise<void> => {
    const { provision } = await import('../postgres/provision.ts');
    await provision(options);
  },
  greet: async (greeting: Greeting, progress: Progress): Promise<SampleTask | undefined> => {
    const { greet } = await import('./greet.ts');
    return greet(greeting, progress);
  },
  settle: async (settlement: Settlement, progress: Progress): Promise<void> => {
    const { settle } = await import('./greet.ts');
    await settle(settlement, progress);
  },
};
export type Steps = typeof steps;

/** Messages of the process of a step: lines of progress, then an answer. */
export type StepAnswer<Result> = { readonly result: Result } | { readonly problem: string };
export type StepMessage<Result = unknown> = StepAnswer<Result> | { readonly line: string };

const send = (message: StepMessage): Promise<void> =>
  new Promise((resolve) => void process.send?.(message, () => resolve()));

const perform = async (name: string, input: unknown): Promise<void> => {
  const step = Object.entries(steps).find(([each]) => each === name)?.[1] as
    | ((input: unknown, progress: Progress) => Promise<unknown>)
    | undefined;
  try {
    if (step === undefined) throw new Error(`there is no step ${name}`);
    const result = await step(
      input,
      createProgress((line) => void send({ line })),
    );
    await send({ result: result ?? null });
  } catch (error) {
    await send({ problem: describeFailure(error) });
  }
  process.disconnect();
};

// Ctrl-C and the end of a terminal reach all processes: the starter decides.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => undefined);
process.once('disconnect', () => process.exit());
process.once('message', ({ input }: { readonly input: unknown }) => {
  void perform(process.argv[2] ?? '', input);
});
