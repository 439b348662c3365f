import { mkdir, realpath } from 'node:fs/promises';
import { GrantClaims } from '@holdpoint/contracts/effect';
import { ConfigError } from '@holdpoint/runtime/config';
import { systemClock } from '@holdpoint/runtime/system-clock';
import { createVerifier } from '@holdpoint/runtime/jws';
import type { Engine } from '@holdpoint/runtime/engine';
import type { Logger } from '@holdpoint/runtime/log';
import { instanceName } from '@holdpoint/runtime/process';
import { type Attendance, type RunningService, startService } from '@holdpoint/runtime/service';
import type { Pool } from 'pg';
import { createFiles } from './adapters/files.ts';
import { createGate } from './adapters/gate.ts';
import { journalsIn } from './adapters/journal-folder.ts';
import type { Entry } from './adapters/journal-segments.ts';
import { createPlaces } from './adapters/places.ts';
import { createReconciler, type Reconciler } from './adapters/reconciler.ts';
import { createRunner } from './adapters/runner.ts';
import { createStandings } from './adapters/standing.ts';
import { tellJournalled } from './adapters/tell-journalled.ts';
import { endpoints } from './api.ts';
import { fileAppend } from './capabilities/file-append.ts';
import { httpRequests } from './capabilities/http-request.ts';
import { contains, type ExecutorConfig } from './config.ts';
import { createEffectDecider, type EffectMessage } from './domain/effect.ts';
import { executorLogic } from './logic.ts';

/** What runs when the executor stops may take so long to end. */
const STOP_GRACE_MS = 5_000;

export const startExecutor = async (
  { env, grantKeys, workspace, journal: kept, pool, effectsMax, http }: ExecutorConfig,
  log: Logger,
): Promise<RunningService> => {
  await mkdir(workspace, { recursive: true });
  const verify = createVerifier(grantKeys);
  const decider = createEffectDecider((token) => GrantClaims.safeParse(verify(token)).data);
  const places = createPlaces(instanceName('executor'), effectsMax);
  const capabilities = [fileAppend(createFiles(workspace)), ...httpRequests(http)];
  // Until the ledger has been looked at.
  places.close();
  await mkdir(kept.folder, { recursive: true, mode: 0o700 });
  // By whatever links it is reached: an effect that could write the journal could make itself unheard of.
  if (contains(await realpath(workspace), await realpath(kept.folder)))
    throw new ConfigError('HOLDPOINT_JOURNAL: leads into the workspace, where effects write');
  const journals = journalsIn(kept.folder, kept, log);
  const journal = await journals.take();
  let reconciler: Reconciler | undefined;
  const gate = createGate(journal, () => reconciler?.refused());
  const runner = createRunner({ capabilities, places, clock: systemClock, note: gate.note, log });
  const attend = (database: Pool, engine: Engine<EffectMessage>): Attendance => {
    const standings = createStandings(database);
    const tell = (entry: Entry): Promise<void> => tellJournalled(engine, entry);
    const started = createReconciler({ journal, journals, standings, gate, places, tell, log });
    reconciler = started;
    return {
      check: { name: 'ledger', ready: () => Promise.resolve(started.isOpen()) },
      stop: started.stop,
    };
  };
  return startService(
    {
      service: 'executor',
      logic: executorLogic({ decider, places, runner, pool }),
      endpoints: (database) => endpoints(database, decider),
      condition: gate.condition,
      attend,
      stopWork: async () => {
        await runner.stop(STOP_GRACE_MS);
        await journal.release();
      },
    },
    env,
    log,
  );
};
