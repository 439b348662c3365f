import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { SignedClaims } from '@holdpoint/contracts/effect/grant';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { crashHook } from '@holdpoint/runtime/service/crash';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import type { Engine } from '@holdpoint/runtime/engine/engine';
import type { Logger } from '@holdpoint/runtime/observability/log';
import type { ObjectStore } from '@holdpoint/runtime/bus/object-store';
import type { Announce } from '@holdpoint/runtime/engine/ports';
import { instanceName } from '@holdpoint/runtime/service/instance';
import {
  type Attendance,
  type RunningService,
  startService,
  type Surroundings,
} from '@holdpoint/runtime/service/service';
import type { Pool } from 'pg';
import { crashingJournal, allEndedFor } from './adapters/runner/execute.ts';
import { createArtifacts } from './adapters/artifacts/artifacts.ts';
import { createCircuits } from './adapters/circuits/circuits.ts';
import { effectMetrics, pollLedger, pollVolumes, showGauges } from './metrics.ts';
import { followRecovery, reportToRecovery } from './adapters/circuits/recovery-link.ts';
import { createHandlerRegistry, targetOf } from './ports/handler-registry.ts';
import { createWhyWaiting } from './adapters/circuits/why-waiting.ts';
import { factsOf, loadCustom } from './capabilities/custom-capabilities.ts';
import { createFiles } from './adapters/files/keyed-file.ts';
import { createLedgerFence } from './adapters/ledger/ledger-fence.ts';
import { createGrantKeys } from './adapters/grants/grant-keys.ts';
import { journalsIn } from './adapters/journal/journal-folder.ts';
import type { Entry } from './adapters/journal/segments.ts';
import { createLogLines } from './adapters/runner/log-lines.ts';
import { createSlots } from './adapters/slots/slots.ts';
import { isWithin } from './adapters/files/real-path.ts';
import { createReconciler, type Reconciler, reportJournalled } from './adapters/ledger/reconciler.ts';
import type { Confinement } from './adapters/process/confinement.ts';
import { createConfinement } from './adapters/process/create-confinement.ts';
import { createRedaction } from './adapters/secrets/redact.ts';
import { createRepositories } from './adapters/git/repositories.ts';
import { createRunner } from './adapters/runner/runner.ts';
import { createSecrets } from './adapters/secrets/secrets.ts';
import { createExecutorRegistry } from './adapters/ledger/executor-registry.ts';
import { createWorkRecords, type WorkRecords } from './adapters/process/process-records.ts';
import { createWorkspace } from './adapters/files/workspace.ts';
import { endpoints } from './api.ts';
import type { Capability } from './ports/capability.ts';
import { fileAppend } from './capabilities/file/file-append.ts';
import { fileWrite } from './capabilities/file/file-write.ts';
import { httpRequests } from './capabilities/http/http-request.ts';
import { notices } from './capabilities/notify/notices.ts';
import { stageCapabilities, startsPrograms } from './capabilities/stages.ts';
import type { ExecutorConfig } from './config.ts';
import type { Verify } from './effect/admission.ts';
import { classifiersWith } from './effect/custom-facts.ts';
import { createEffectDecider, type EffectMessage } from './effect/decide.ts';
import { executorLogic } from './logic.ts';

/** What runs when the executor stops may take so long to end. */
const STOP_GRACE_MS = 5_000;
/** What is not stored by then is stored at the next start. */
const STORE_GRACE_MS = 1_500;

/** Makes a folder that nothing may reach which effects write, by whatever links it is reached. */
const makeApart = async (folder: string, workspace: string, variable: string): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (isWithin(await realpath(workspace), await realpath(folder)))
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

const capabilitiesOf = (
  config: ExecutorConfig,
  records: WorkRecords,
  confinement: Confinement,
  custom: readonly Capability[],
): readonly Capability[] => [
  ...custom,
  fileAppend(createFiles(config.workspace)),
  fileWrite(createWorkspace(config.workspace)),
  ...httpRequests(config.http),
  ...notices({ targets: config.notifyTargets }, Date.now),
  ...stageCapabilities({
    repositories: createRepositories(config.repositories, config.commandEnv),
    records,
    env: config.commandEnv,
    agentDefault: config.agent,
    confinement,
  }),
];

export const startExecutor = async (config: ExecutorConfig, log: Logger): Promise<RunningService> => {
  const { env, grantKeys, workspace, journal: kept, pools } = config;
  await mkdir(workspace, { recursive: true });
  const keys = createGrantKeys({ ...grantKeys, clock: systemClock, log });
  // Before anything is taken: one that is wrong is the operator's to mend.
  const custom = await loadCustom(config.capabilities, workspace);
  const confinement = await createConfinement({
    namespace: config.commandNamespace,
    limits: config.commandLimits,
    env: config.commandEnv,
    log,
  });
  const { classOf, kindOf } = classifiersWith(custom.map(factsOf));
  const claimsOf: Verify = (token) => SignedClaims.safeParse(keys.verify(token)).data;
  const decider = createEffectDecider(claimsOf, classOf, kindOf);
  // An effect that could write the journal could make itself unheard of, one that could write the other have anything killed.
  await makeApart(kept.folder, workspace, 'HOLDPOINT_JOURNAL');
  await makeApart(config.state, workspace, 'HOLDPOINT_STATE');
  const journals = journalsIn(kept.folder, kept, log);
  const journal = await journals.take();
  // Whoever has the journal has what its last owner left behind; others on this machine have journals of their own.
  const records = createWorkRecords(join(config.state, journal.id));
  const commandPlaces = { count: config.commandsMax, isCommand: startsPrograms };
  const self = { worker: instanceName('executor'), journal: journal.id };
  const all = capabilitiesOf(config, records, confinement, custom);
  const capabilities = createHandlerRegistry(all);
  let announce: Announce | undefined;
  const circuits = createCircuits({
    // Two in one process, or in two containers with one name, are two all the same.
    self: `${self.worker}/${journal.id}`,
    rules: config.circuits,
    targetMax: config.targetMax,
    clock: systemClock,
    report: reportToRecovery((subject, body) => announce?.(subject, body) ?? false),
    slots: {
      isWaitedFor: (target) => places.isWaitedFor(target),
      changed: (target) => places.changed(target),
    },
    log,
  });
  const places = createSlots(self, config.effectsMax, commandPlaces, {
    of: targetOf(capabilities),
    limitOf: circuits.limitOf,
  });
  // Until the ledger has been looked at.
  places.close();
  await endLeftovers(records, log);
  let reconciler: Reconciler | undefined;
  const artifacts = await createArtifacts({ folder: join(config.state, journal.id), ...config.spool, log });
  const linesOf = createLogLines({
    announce: (subject, body) => announce?.(subject, body) ?? false,
    clock: systemClock,
    now: Date.now,
    redact: createRedaction(config.secrets),
    logOf: artifacts.keeping.logOf,
  });
  const whyWaiting = createWhyWaiting(targetOf(capabilities), circuits);
  const gate = createLedgerFence(journal, () => reconciler?.refused());
  const isOver = allEndedFor((held) => held === journal.id);
  const runner = createRunner({
    capabilities,
    slots: places,
    clock: systemClock,
    journalStart: crashingJournal(gate.journalStart, crashHook(env.HOLDPOINT_CRASH)),
    allEnded: isOver,
    guard: circuits.guard,
    deferralOf: whyWaiting.deferralOf,
    secretsOf: createSecrets(config.secretTable, config.secrets),
    linesOf,
    fit: artifacts.keeping.fit,
    log,
  });
  const attend = (
    database: Pool,
    engine: Engine<EffectMessage>,
    saying: Announce,
    objects: ObjectStore,
    { listener, gauge, sample }: Surroundings,
  ): Attendance => {
    announce = saying;
    showGauges(gauge, places, circuits);
    pollLedger(database, sample);
    pollVolumes({ workspace, state: config.state, journal: kept.folder }, sample);
    const following = followRecovery(listener, circuits, systemClock);
    keys.learnFrom((nonce) => listener.ask('approvals', 'keys', { nonce }));
    artifacts.connect(database, objects);
    const standings = createExecutorRegistry(database);
    const tell = (entry: Entry): Promise<void> => reportJournalled(engine, entry);
    const started = createReconciler({
      journal,
      journals,
      registry: standings,
      fence: gate,
      slots: places,
      report: tell,
      known: following.asked,
      log,
    });
    reconciler = started;
    return {
      check: { name: 'ledger', ready: () => Promise.resolve(started.isOpen()) },
      stop: async () => {
        following.stop();
        await keys.stop();
        await started.stop();
      },
    };
  };
  const service = await startService(
    {
      service: 'executor',
      logic: executorLogic({ decider, places, runner, pools, mayLearnKeyOf: keys.mayLearnKeyOf }),
      endpoints: (database) =>
        endpoints(database, decider, artifacts.queries, whyWaiting, { capabilities: all, classOf, kindOf }),
      migrations: join(import.meta.dirname, '..', 'migrations'),
      condition: gate.condition,
      figures: effectMetrics,
      attend,
      stopWork: async () => {
        await runner.stop(STOP_GRACE_MS);
        circuits.stop();
        await artifacts.stop(STORE_GRACE_MS);
        await journal.release();
      },
    },
    env,
    log,
  );
  return {
    ...service,
    stop: () => {
      // Before anything else is stopped: what comes in meanwhile is kept for another executor.
      places.drain();
      return service.stop();
    },
  };
};
