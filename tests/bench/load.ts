import { ApprovalRequested } from '@holdpoint/contracts/approval/events';
import type { Client } from '@holdpoint/cli/bus/client';
import { newTaskId } from '@holdpoint/contracts/values/ids';
import { z } from 'zod';

/** The times of one task by the generator's monotonic clock. */
type Life = {
  readonly submittedAt: number;
  approvedAt?: number;
  readonly ended: (life: { readonly totalMs: number }) => void;
};

export type Sample = {
  readonly totalMs: readonly number[];
  readonly approveToEffectMs: readonly number[];
  readonly seconds: number;
};

const About = z.object({ task: z.string() });

/**
 * Keeps gated tasks in flight: submits each by the API, approves it when its request is published, and
 * replaces it when it completes.
 */
export const createLoad = async (client: Client) => {
  const lives = new Map<string, Life>();
  let totalMs: number[] = [];
  let approveToEffectMs: number[] = [];
  let failure: Error | undefined;

  const fail = (error: unknown): void => {
    failure ??= error instanceof Error ? error : new Error('the generator failed', { cause: error });
  };

  const decoded = <Schema extends z.ZodType>(schema: Schema, data: Uint8Array): z.output<Schema> =>
    schema.parse(JSON.parse(new TextDecoder().decode(data)));

  const { connection } = client;
  connection.subscribe('hp.evt.approval.requested.*', {
    callback: (error, msg) => {
      if (error !== null) return fail(error);
      const { id, task, digest } = decoded(ApprovalRequested, msg.data);
      const life = lives.get(task);
      if (life === undefined) return undefined;
      life.approvedAt = performance.now();
      client
        .call('approvals', 'decide', { id, decision: 'approve', digest }, { timeoutMs: 30_000 })
        .catch(fail);
      return undefined;
    },
  });
  connection.subscribe('hp.evt.effect.applied.*', {
    callback: (error, msg) => {
      if (error !== null) return fail(error);
      const approvedAt = lives.get(decoded(About, msg.data).task)?.approvedAt;
      if (approvedAt !== undefined) approveToEffectMs.push(performance.now() - approvedAt);
      return undefined;
    },
  });
  connection.subscribe('hp.evt.task.completed.*', {
    callback: (error, msg) => {
      if (error !== null) return fail(error);
      const id = msg.subject.slice(msg.subject.lastIndexOf('.') + 1);
      const life = lives.get(id);
      if (life === undefined) return undefined;
      lives.delete(id);
      life.ended({ totalMs: performance.now() - life.submittedAt });
      return undefined;
    },
  });
  await connection.flush();

  const submit = (id: string): Promise<unknown> =>
    client.call(
      'orchestrator',
      'submit',
      { id, workflow: 'sample', goal: 'bench', inputs: { file: 'bench.txt', line: 'a line' } },
      { timeoutMs: 30_000 },
    );

  const one = async (): Promise<void> => {
    const id = newTaskId();
    const ended = new Promise<{ readonly totalMs: number }>((resolve) => {
      lives.set(id, { submittedAt: performance.now(), ended: resolve });
    });
    await submit(id);
    totalMs.push((await ended).totalMs);
  };

  return {
    /** Runs a number of tasks in flight for a while, or until so many have completed. Throws on any failure. */
    measure: async (inFlight: number, seconds: number, tasksMax = Infinity): Promise<Sample> => {
      totalMs = [];
      approveToEffectMs = [];
      const started = performance.now();
      const until = started + seconds * 1_000;
      const lane = async (): Promise<void> => {
        while (performance.now() < until && totalMs.length < tasksMax && failure === undefined) await one();
      };
      await Promise.all(Array.from({ length: inFlight }, lane));
      if (failure !== undefined) throw failure;
      return { totalMs, approveToEffectMs, seconds: (performance.now() - started) / 1_000 };
    },
    /** Submits tasks that stay at their gates. */
    park: async (tasks: number, atOnce: number): Promise<void> => {
      let left = tasks;
      const lane = async (): Promise<void> => {
        while (left > 0) {
          left -= 1;
          await submit(newTaskId());
        }
      };
      await Promise.all(Array.from({ length: atOnce }, lane));
    },
  };
};

export type Load = Awaited<ReturnType<typeof createLoad>>;
