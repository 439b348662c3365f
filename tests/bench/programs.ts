import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ApprovalRequested } from '@holdpoint/contracts/approval/events';
import type { Client } from '@holdpoint/cli/bus/client';
import { TaskId } from '@holdpoint/contracts/values/ids';
import { type Percentiles, percentiles, round } from './report/percentiles.ts';
import { HOPS, HOPS_PROGRAM, THREE_PROGRAM } from './program-names.ts';

const WORKER = join(import.meta.dirname, 'program-worker.ts');
/** Runs of the idle program, one after the other. */
const RUNS = 20;

export type ProgramMeasurement =
  | {
      readonly measurement: 'program of three phases';
      readonly inFlight: number;
      readonly tasks: number;
      readonly tasksPerSecond: number;
      /** With an agent phase, an answer, an approval and an effect. */
      readonly submitToCompleteMs: Percentiles;
    }
  | {
      readonly measurement: 'hop to a worker and back';
      readonly phases: number;
      /** One idle phase: order, claim, run and end, all committed. */
      readonly perPhaseMs: Percentiles;
    };

/** Starts a worker and measures programs. Throws on any failure. */
export const measurePrograms = async (
  client: Client,
  where: { readonly natsUrl: string; readonly credentialsDir: string },
  {
    run,
    inFlight,
    seconds,
  }: { readonly run: string; readonly inFlight: readonly number[]; readonly seconds: number },
  print: (measurement: ProgramMeasurement) => void,
): Promise<void> => {
  const worker = spawn(process.execPath, [WORKER, where.natsUrl, where.credentialsDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(worker.stdout, 'data');
  const { connection } = client;
  const ended = new Map<string, () => void>();
  let failure: Error | undefined;
  const fail = (error: unknown): void => {
    failure ??= error instanceof Error ? error : new Error('the generator failed', { cause: error });
  };
  const json = (data: Uint8Array): unknown => JSON.parse(new TextDecoder().decode(data));
  const heard = [
    connection.subscribe('hp.evt.approval.requested.*', {
      callback: (error, msg) => {
        if (error !== null) return fail(error);
        const { id, digest, input, workflow } = ApprovalRequested.parse(json(msg.data));
        if (workflow !== THREE_PROGRAM) return undefined;
        const decision =
          input === undefined
            ? { decision: 'approve' as const }
            : { decision: 'respond' as const, response: true };
        client.call('approvals', 'decide', { id, digest, ...decision }, { timeoutMs: 30_000 }).catch(fail);
        return undefined;
      },
    }),
    connection.subscribe('hp.evt.task.completed.*', {
      callback: (error, msg) => {
        if (error !== null) return fail(error);
        ended.get(msg.subject.slice(msg.subject.lastIndexOf('.') + 1))?.();
        return undefined;
      },
    }),
    connection.subscribe('hp.evt.task.failed.*', {
      callback: (_error, msg) => {
        if (ended.has(msg.subject.slice(msg.subject.lastIndexOf('.') + 1)))
          fail(new Error(new TextDecoder().decode(msg.data)));
        return undefined;
      },
    }),
  ];
  await connection.flush();

  let count = 0;
  const one = async (workflow: string): Promise<number> => {
    count += 1;
    const id = TaskId.parse(`${run}-p${String(count)}`);
    const began = performance.now();
    const over = new Promise<void>((resolve) => void ended.set(id, resolve));
    await client.call(
      'orchestrator',
      'submit',
      { id, workflow, goal: 'bench', inputs: {} },
      { timeoutMs: 30_000 },
    );
    await over;
    ended.delete(id);
    return performance.now() - began;
  };

  try {
    const perPhase: number[] = [];
    for (let i = 0; i < RUNS; i += 1) perPhase.push((await one(HOPS_PROGRAM)) / HOPS);
    print({
      measurement: 'hop to a worker and back',
      phases: RUNS * HOPS,
      perPhaseMs: percentiles(perPhase),
    });
    for (const atOnce of inFlight) {
      const took: number[] = [];
      const started = performance.now();
      const lane = async (): Promise<void> => {
        while (performance.now() < started + seconds * 1_000 && failure === undefined)
          took.push(await one(THREE_PROGRAM));
      };
      await Promise.all(Array.from({ length: atOnce }, lane));
      if (failure !== undefined) throw failure;
      print({
        measurement: 'program of three phases',
        inFlight: atOnce,
        tasks: took.length,
        tasksPerSecond: round(took.length / ((performance.now() - started) / 1_000), 1),
        submitToCompleteMs: percentiles(took),
      });
    }
  } finally {
    for (const subscription of heard) subscription.unsubscribe();
    worker.kill('SIGTERM');
    await once(worker, 'exit');
  }
};
