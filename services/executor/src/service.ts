import { mkdir } from 'node:fs/promises';
import { GrantClaims } from '@holdpoint/contracts/effect';
import { executorConsumer } from '@holdpoint/contracts/streams';
import { parseCommand, type Routed } from '@holdpoint/runtime/inbound';
import { createVerifier } from '@holdpoint/runtime/jws';
import type { Logger } from '@holdpoint/runtime/log';
import { instanceName } from '@holdpoint/runtime/process';
import { type RunningService, SNAPSHOT_EVERY, startService } from '@holdpoint/runtime/service';
import { type AppendLine, createKeyedFile } from './adapters/keyed-file.ts';
import { createPlaces, type Places } from './adapters/places.ts';
import { createRunner } from './adapters/runner.ts';
import { createWorkspace } from './adapters/workspace.ts';
import { endpoints } from './api.ts';
import { fileAppend } from './capabilities/file-append.ts';
import type { ExecutorConfig } from './config.ts';
import { createEffectDecider, type EffectMessage } from './domain/effect.ts';
import { summarise } from './projections/effects.ts';

/** What runs when the executor stops may take so long to end. */
const STOP_GRACE_MS = 5_000;

/** One writer a file, however many effects append to it at once; each lot of them has its path looked at anew. */
const createFiles = (root: string): ((file: string) => Promise<AppendLine>) => {
  const workspace = createWorkspace(root);
  const writers = new Map<string, AppendLine>();
  const resolving = new Map<string, Promise<string>>();
  return async (file) => {
    const path = await (resolving.get(file) ?? resolve(file));
    const writer = writers.get(path) ?? createKeyedFile(path);
    writers.set(path, writer);
    return writer;
  };

  function resolve(file: string): Promise<string> {
    const path = workspace.resolve(file).finally(() => resolving.delete(file));
    resolving.set(file, path);
    return path;
  }
};

const decode = (
  subject: string,
  body: unknown,
  places: Places,
  usesSlot: (slot: number) => boolean,
): Routed<EffectMessage> => {
  const command = parseCommand('executor', subject, body);
  const aggregate = command.payload.id;
  if (command.kind === 'cancel') return { aggregate, message: command };
  const place = places.take();
  // A place that the decision did not use, because the order was a repeat, goes to the next.
  const released = (): void =>
    place === undefined || usesSlot(place.slot) ? undefined : places.free(place.slot);
  return { aggregate, message: { ...command, place }, released };
};

export const startExecutor = async (config: ExecutorConfig, log: Logger): Promise<RunningService> => {
  await mkdir(config.workspace, { recursive: true });
  const verify = createVerifier(config.grantKeys);
  const decider = createEffectDecider((token) => GrantClaims.safeParse(verify(token)).data);
  const places = createPlaces(instanceName('executor'), config.effectsMax);
  const runner = createRunner([fileAppend(createFiles(config.workspace))], places, log);
  return startService(
    {
      service: 'executor',
      kind: {
        service: 'executor',
        aggregate: 'effect',
        decider,
        summarise,
        snapshotEvery: SNAPSHOT_EVERY,
      },
      inbound: [
        {
          consumer: executorConsumer(config.pool),
          decode: (subject, body) => decode(subject, body, places, runner.usesSlot),
        },
      ],
      endpoints: (pool) => endpoints(pool, decider),
      perform: runner.perform,
      stopWork: () => runner.stop(STOP_GRACE_MS),
    },
    config.env,
    log,
  );
};
