import { join } from 'node:path';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { digestOf } from '@holdpoint/contracts/values/json';
import { startChild } from '@holdpoint/infra/local/process/child';
import { poll } from '@holdpoint/infra/local/poll';
import { readIfPresent } from '@holdpoint/infra/credentials/keep';
import { z } from 'zod';
import { fetchLedger } from '../../counter/ledger.ts';
import { claimedWorkflow } from './claimed.ts';
import { graphOf } from './graph.ts';
import { PROGRAM } from './program.ts';
import type { PlannedTask } from './planned.ts';
import { makeScratchRepository } from './scratch-repository.ts';
import type { Target } from './target.ts';

const STARTS_WITHIN_MS = 15_000;
const Announced = z.object({ counter: z.url(), pid: z.int() });

export type CounterTarget = Target & { readonly origin: string; readonly pid: number };

const mainFile = join(import.meta.dirname, '..', '..', 'counter', 'main.ts');

const bodyOf = ({ id }: PlannedTask) => ({ task: id, says: `counted once for ${id}` });

const announced = async (file: string): Promise<z.infer<typeof Announced> | undefined> => {
  const line = (await readIfPresent(file))?.split('\n')[0];
  return line === undefined || line === '' ? undefined : Announced.parse(JSON.parse(line));
};

/** A counter server in a process that no fault touches. */
export const startCounterTarget = async (folder: string, seed: string): Promise<CounterTarget> => {
  const scratch = await makeScratchRepository(folder);
  const logFile = join(folder, 'logs', 'counter.log');
  const child = await startChild({
    name: 'counter',
    command: process.execPath,
    args: [mainFile, '--file', join(folder, 'counter.ndjson'), '--seed', seed],
    logFile,
  });
  const { counter: origin, pid } = await poll(() => announced(logFile), {
    timeoutMs: STARTS_WITHIN_MS,
    what: `the counter server has not started, see ${logFile}`,
  });
  const control = async (body: object): Promise<void> => {
    const response = await fetch(new URL('/control', origin), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`the counter server answered ${String(response.status)}`);
    await response.body?.cancel();
  };
  return {
    origin,
    pid,
    node: 'request' as NodeId,
    idempotencyKey: 'request',
    submission: (task) => {
      const request = {
        url: `${origin}/${task.keyed ? 'keyed' : 'opaque'}/${task.id}`,
        method: 'POST',
        body: bodyOf(task),
      };
      const common = { id: task.id, goal: `count ${task.id} once` };
      if (task.program === true)
        return {
          ...common,
          workflow: PROGRAM,
          inputs: { task: task.id, origin, url: request.url, body: request.body, token: '' },
        };
      if (task.claimed === true) {
        const definition = claimedWorkflow('request', task.keyed, { url: request.url, body: request.body });
        return { ...common, workflow: definition.id, definition, inputs: {} };
      }
      if (task.graph === undefined)
        return { ...common, workflow: 'http', inputs: { ...request, keyed: task.keyed } };
      const around = { task: task.id, book: scratch.book, request, target: origin };
      const definition = graphOf(task.graph, around);
      return { ...common, workflow: definition.id, definition, repository: scratch.root, inputs: {} };
    },
    release: () => control({ release: true }),
    applications: async () =>
      (await fetchLedger(origin)).flatMap((record) =>
        record.type === 'applied'
          ? [
              {
                key: record.key ?? record.path,
                epoch: record.epoch ?? undefined,
                digest: record.digest,
                at: Date.parse(record.at),
              },
            ]
          : [],
      ),
    expectedDigest: (task) => digestOf(bodyOf(task)),
    programs: true,
    graphs: { work: scratch.work, saved: scratch.saved },
    stop: async () => void (await child.stop()),
  };
};
