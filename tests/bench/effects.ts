import { createPrivateKey } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import type { RunEffect } from '@holdpoint/contracts/effect/commands';
import { ApprovalId, effectIdOf, NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { layout } from '@holdpoint/infra/credentials/layout';
import { connectAs } from '@holdpoint/infra/nats/connect';
import { createSigner } from '@holdpoint/runtime/service/jws';
import { z } from 'zod';
import { connectOrchestrator } from './orchestrator.ts';
import { type Percentiles, percentiles, round } from './report/percentiles.ts';

const NOOP = 'cap.custom.bench_noop';
const HOLD = 'cap.custom.bench_hold';
const NODE = NodeId.parse('effect');
const GRANT_SECONDS = 3_600;

export type EffectMeasurement = {
  readonly measurement: 'effects';
  readonly inFlight: number;
  readonly effects: number;
  readonly effectsPerSecond: number;
  /** From the publish of the order to its `applied` event, over the bus. */
  readonly orderToAppliedMs: Percentiles;
};

const About = z.object({ id: z.string() });

/** Orders effects like the orchestrator, with valid grants and seals, and listens to their events. */
export const connectOrders = async (natsUrl: string, credentialsDir: string, run: string) => {
  const files = layout(credentialsDir);
  const sign = createSigner(createPrivateKey(await readFile(files.grantKey)));
  const [bus, watcher] = await Promise.all([
    connectOrchestrator(natsUrl, credentialsDir),
    connectAs({ url: natsUrl, credentialsDir, user: 'operator' }),
  ]);
  const waiting = new Map<string, () => void>();
  const sentAt = new Map<string, number>();
  watcher.subscribe('hp.evt.effect.applied.*', {
    callback: (error, msg) => {
      if (error !== null) throw error;
      const { id } = About.parse(JSON.parse(new TextDecoder().decode(msg.data)));
      waiting.get(id)?.();
      waiting.delete(id);
      sentAt.delete(id);
    },
  });
  await watcher.flush();
  let count = 0;

  const orderOf = (uses: string): RunEffect => {
    count += 1;
    const task = TaskId.parse(`${run}-${String(count)}`);
    const effect: CanonicalEffect = {
      task,
      node: NODE,
      uses,
      args: {},
      kind: 'other',
      effectClass: 'idempotent',
      target: 'nothing',
      idempotencyKey: 'once',
    };
    const id = effectIdOf(task, NODE, effect.idempotencyKey);
    const digest = effectDigest(effect);
    const iat = Math.floor(Date.now() / 1_000);
    const grant = sign({
      jti: ApprovalId.parse('a-bench'),
      sub: id,
      digest,
      iat,
      exp: iat + GRANT_SECONDS,
      by: 'bench',
    });
    return { id, attempt: 1, effect, digest, grant };
  };

  /** Resolves once it is applied. */
  const order = (uses: string): Promise<void> =>
    new Promise((resolve) => {
      const wanted = orderOf(uses);
      waiting.set(wanted.id, resolve);
      sentAt.set(wanted.id, performance.now());
      bus.publish(subjects.effectCommand('run', DEFAULT_POOL), wanted);
    });

  const measure = async (inFlight: number, seconds: number, uses = NOOP): Promise<EffectMeasurement> => {
    const durations: number[] = [];
    const began = performance.now();
    const until = began + seconds * 1_000;
    const one = async (): Promise<void> => {
      while (performance.now() < until) {
        const at = performance.now();
        await order(uses);
        durations.push(performance.now() - at);
      }
    };
    await Promise.all(Array.from({ length: inFlight }, one));
    const took = (performance.now() - began) / 1_000;
    return {
      measurement: 'effects',
      inFlight,
      effects: durations.length,
      effectsPerSecond: round(durations.length / took, 1),
      orderToAppliedMs: percentiles(durations),
    };
  };

  return {
    measure,
    /** When the order of an effect under way was published, by the clock of this process. */
    sentAt: (effect: string): number | undefined => sentAt.get(effect),
    /** Takes every slot and queues more orders. `done` resolves when all are applied. */
    queue: async (places: number, behind: number): Promise<{ readonly done: Promise<unknown> }> => {
      const held = Array.from({ length: places }, () => order(HOLD));
      const left = Array.from({ length: behind }, () => order(NOOP));
      await bus.flush();
      return { done: Promise.all([...held, ...left]) };
    },
    close: async (): Promise<void> => {
      await Promise.all([bus.close(), watcher.close()]);
    },
  };
};
