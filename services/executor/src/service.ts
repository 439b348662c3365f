import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { GrantClaims } from '@holdpoint/contracts/effect';
import { ConfigError } from '@holdpoint/runtime/config';
import { systemClock } from '@holdpoint/runtime/system-clock';
import { errorFields } from '@holdpoint/runtime/error-fields';
import { createVerifier } from '@holdpoint/runtime/jws';
import type { Engine } from '@holdpoint/runtime/engine';
import type { Logger } from '@holdpoint/runtime/log';
import type { Announce } from '@holdpoint/runtime/ports';
import { instanceName } from '@holdpoint/runtime/process';
import { type Attendance, type RunningService, startService } from '@holdpoint/runtime/service';
import type { Pool } from 'pg';
import { createFiles } from './adapters/files.ts';
import { createGate } from './adapters/gate.ts';
import { journalsIn } from './adapters/journal-folder.ts';
import type { Entry } from './adapters/journal-segments.ts';
import { createLogLines } from './adapters/log-lines.ts';
import { createPlaces } from './adapters/places.ts';
import { createReconciler, type Reconciler } from './adapters/reconciler.ts';
import { createRedaction } from './adapters/redact.ts';
import { createRepositories } from './adapters/repositories.ts';
import { createRunner } from './adapters/runner.ts';
import { createStandings } from './adapters/standing.ts';
import { tellJournalled } from './adapters/tell-journalled.ts';
import { createWorkRecords, type WorkRecords } from './adapters/work-records.ts';
import { endpoints } from './api.ts';
import type { Capability } from './capabilities/capability.ts';
import { fileAppend } from './capabilities/file-append.ts';
import { httpRequests } from './capabilities/http-request.ts';
import { stageCapabilities, startsPrograms } from './capabilities/stages.ts';
import { contains, type ExecutorConfig } from './config.ts';
import { createEffectDecider, type EffectMessage } from './domain/effect.ts';
import { executorLogic } from './logic.ts';

/** What runs when the executor stops may take so long to end. */
const STOP_GRACE_MS = 5_000;

/** Makes a folder that nothing may reach which effects write, by whatever links it is reached. */
const makeApart = async (folder: string, workspace: string, variable: string): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (contains(await realpath(workspace), await realpath(folder)))
    throw new ConfigError(`${variable}: leads into the workspace, where effects write`);
};

/** A program that cannot be ended is somebody's to look at; everything else goes on meanwhile. */
const endLeftovers = async (records: WorkRecords, log: Logger): Promise<void> => {
  try {
    const ended = await records.endAll();
    if (ended > 0) log.warn({ ended }, 'programs were ended that an executor before had left running');
  } catch (error) {
    log.error(errorFields(error), 'programs that an executor before has left running could not be ended');
  }
};

const capabilitiesOf = (config: ExecutorConfig, records: WorkRecords): readonly Capability[] => [
  fileAppend(createFiles(config.workspace)),
  ...httpRequests(config.http),
  ...stageCapabilities({
    repositories: createRepositories(config.repositories, config.commandEnv),
    records,
    env: config.commandEnv,
    agentDefault: config.agent,
  }),
];

export const startExecutor = async (config: ExecutorConfig, log: Logger): Promise<RunningService> => {
  const { env, grantKeys, workspace, journal: kept, pool } = config;
  await mkdir(workspace, { recursive: true });
  const verify = createVerifier(grantKeys);
  const decider = createEffectDecider((token) => GrantClaims.safeParse(verify(token)).data);
  const commandPlaces = { count: config.commandsMax, isCommand: startsPrograms };
  const places = createPlaces(instanceName('executor'), config.effectsMax, commandPlaces);
  // Until the ledger has been looked at.
  places.close();
  // An effect that could write the journal could make itself unheard of, one that could write the other have anything killed.
  await makeApart(kept.folder, workspace, 'HOLDPOINT_JOURNAL');
  await makeApart(config.state, workspace, 'HOLDPOINT_STATE');
  const journals = journalsIn(kept.folder, kept, log);
  const journal = await journals.take();
  // Whoever has the journal has what its last owner left behind; others on this machine have journals of their own.
  const records = createWorkRecords(join(config.state, journal.id));
  await endLeftovers(records, log);
  let reconciler: Reconciler | undefined;
  let announce: Announce | undefined;
  const linesOf = createLogLines({
    announce: (subject, body) => announce?.(subject, body) ?? false,
    clock: systemClock,
    now: Date.now,
    redact: createRedaction(config.secrets),
  });
  const gate = createGate(journal, () => reconciler?.refused());
  const capabilities = capabilitiesOf(config, records);
  const runner = createRunner({ capabilities, places, clock: systemClock, note: gate.note, linesOf, log });
  const attend = (database: Pool, engine: Engine<EffectMessage>, saying: Announce): Attendance => {
    announce = saying;
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
