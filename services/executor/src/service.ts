import { mkdir, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { executorConsumer } from '@holdpoint/contracts/bus/streams';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import { SignedClaims } from '@holdpoint/contracts/effect/grant';
import { ConfigError } from '@holdpoint/runtime/service/config';
import { crashHook } from '@holdpoint/runtime/service/crash';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import { errorFields } from '@holdpoint/runtime/engine/error-fields';
import { parseAs } from '@holdpoint/runtime/engine/inbound';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import { instanceName } from '@holdpoint/runtime/service/instance';
import { type Connections, defineService, type ServiceDefinition } from '@holdpoint/runtime/service/service';
import { followJoinSecret } from '@holdpoint/runtime/service/join-secret';
import { sealSignerOf } from '@holdpoint/runtime/service/seal-key';
import { reachOf, startEnrolment } from './adapters/enrolment/enrolment.ts';
import { takeOwnKey } from './adapters/enrolment/own-key.ts';
import { crashingJournal, allEndedFor } from './adapters/runner/execute.ts';
import { createAdoption, startsUnderWay, waitingOrders } from './adapters/ledger/adoption.ts';
import { createClaimants } from './adapters/claimants/claimants.ts';
import { Hint } from './adapters/claimants/hints.ts';
import { remoteOrders } from './adapters/claimants/remote-orders.ts';
import { createArtifacts } from './adapters/artifacts/artifacts.ts';
import { createCircuits } from './adapters/circuits/circuits.ts';
import { effectMetrics, pollLedger, pollVolumes, showGauges } from './metrics.ts';
import { followRecovery, reportToRecovery } from './adapters/circuits/recovery-link.ts';
import { createHandlerRegistry, targetOf } from './ports/handler-registry.ts';
import { createWhyWaiting, waitingForJournals } from './adapters/circuits/why-waiting.ts';
import { traitsOf, loadCustom } from './capabilities/custom-capabilities.ts';
import { createKeyedFiles } from './adapters/files/keyed-file.ts';
import { createLedgerFence } from './adapters/ledger/ledger-fence.ts';
import { journalsIn } from './adapters/journal/journal-folder.ts';
import { createLogLines } from './adapters/runner/log-lines.ts';
import { createSlots } from './adapters/slots/slots.ts';
import { isWithin } from './adapters/files/real-path.ts';
import { createReconciler, reportJournalled } from './adapters/ledger/reconciler.ts';
import type { Confinement } from './adapters/process/confinement.ts';
import { protectFrom } from './adapters/process/protect.ts';
import { createRedaction } from './adapters/secrets/redact.ts';
import { createRepositories } from './adapters/git/repositories.ts';
import { createRunner } from './adapters/runner/runner.ts';
import { createSecrets } from './adapters/secrets/secrets.ts';
import { createExecutorRegistry } from './adapters/ledger/executor-registry.ts';
import { createProcessRecords, type ProcessRecords } from './adapters/process/process-records.ts';
import { createWorkspace } from './adapters/files/workspace.ts';
import { endpoints } from './api.ts';
import type { Capability } from './ports/capability.ts';
import { fileAppend } from './capabilities/file/file-append.ts';
import { fileWrite } from './capabilities/file/file-write.ts';
import { httpRequests } from './capabilities/http/http-request.ts';
import { notices } from './capabilities/notify/notices.ts';
import { stageCapabilities, startsProcess } from './capabilities/stages.ts';
import { type ExecutorConfig, readConfig } from './config.ts';
import type { Verify } from './effect/admission.ts';
import { classifiersWith } from './effect/custom-traits.ts';
import { createEffectDecider } from './effect/decide.ts';
import { executorBindings, executorKinds } from './bindings.ts';

/** Time for running effects to finish when the executor stops. */
const STOP_GRACE_MS = 5_000;
/** Time for uploads; the rest is uploaded after the next start. */
const STORE_GRACE_MS = 1_500;
/** States of waiting effects that stay in memory. There may be tens of thousands, and the ledger has them. */
const WAITING_STATES_MAX = 1_000;

/** How soon an executor that may start effects looks for orders that wait. Later looks are rarer. */
const ADOPT_EVERY_MS = 1_000;

/** Creates a private folder, and refuses one that leads into the workspace. */
const makeApart = async (folder: string, workspace: string, variable: string): Promise<void> => {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (isWithin(await realpath(workspace), await realpath(folder)))
    throw new ConfigError(`${variable}: is inside the workspace, where effects write`);
};

type Places = { readonly open: () => void; readonly close: () => void; readonly drain: () => void };

/** All of these open and close together. */
const together = (...places: readonly Places[]): Places => ({
  open: () => places.forEach((each) => each.open()),
  close: () => places.forEach((each) => each.close()),
  drain: () => places.forEach((each) => each.drain()),
});

/** A process that cannot be killed is left to the operator: the executor starts all the same. */
const endLeftovers = async (records: ProcessRecords, log: Logger): Promise<void> => {
  try {
    const ended = await records.endAll();
    if (ended > 0) log.warn({ ended }, 'ended processes of an earlier executor');
  } catch (error) {
    log.error(errorFields(error), 'cannot end the processes of an earlier executor');
  }
};

const capabilitiesOf = (
  config: ExecutorConfig,
  records: ProcessRecords,
  confinement: Confinement,
  custom: readonly Capability[],
): readonly Capability[] => [
  ...custom,
  fileAppend(createKeyedFiles(config.workspace)),
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

/** The service as its settings define it, with its journal and its processes. Throws `ConfigError`. */
export const define = async (settings: NodeJS.ProcessEnv, log: Logger): Promise<ServiceDefinition> => {
  const config = readConfig(settings);
  const { env, workspace, journal: kept, pools } = config;
  await mkdir(workspace, { recursive: true });
  // Before anything is taken: an operator has to repair a faulty module.
  const custom = await loadCustom(config.capabilities, workspace);
  // Effects write the workspace: one that could write these folders could hide starts, or have any process killed.
  await makeApart(kept.folder, workspace, 'HOLDPOINT_JOURNAL_DIR');
  await makeApart(config.state, workspace, 'HOLDPOINT_STATE_DIR');
  const rules = await protectFrom({
    work: config.work,
    limits: config.commandLimits,
    env: config.commandEnv,
    state: config.state,
    journal: kept.folder,
    workspace,
    repositories: config.repositories,
    secretFiles: [
      ...config.secretFiles,
      ...[...config.secretTable.values()].flatMap(({ file }) => file ?? []),
    ],
    log,
  });
  const journals = journalsIn(kept.folder, kept, log);
  const journal = await journals.take();
  // Before anything runs that could wait for it.
  const joinSecret = followJoinSecret(env, log);
  const key = await takeOwnKey(join(config.state, journal.id));
  const signer = sealSignerOf(key.privateKey);
  // The owner of a journal ends what its last owner left; other executors on this machine have journals of their own.
  const records = createProcessRecords(join(config.state, journal.id));
  await endLeftovers(records, log);
  const { classOf, kindOf } = classifiersWith(custom.map(traitsOf));
  const all = capabilitiesOf(config, records, rules.confinement, custom);
  const capabilities = createHandlerRegistry(all);
  const fence = createLedgerFence(journal);
  const journalStart = crashingJournal(fence.journalStart, crashHook(env.HOLDPOINT_TEST_CRASH_POINT));
  const self = { worker: instanceName('executor'), journal: journal.id };

  const createRunnerOn = async ({ pool, announce, gauge, poll }: Connections) => {
    const circuits = createCircuits({
      // Two executors in one process, or in two containers with one name, are still two.
      self: `${self.worker}/${journal.id}`,
      rules: config.circuits,
      targetMax: config.targetMax,
      clock: systemClock,
      report: reportToRecovery(announce),
      slots: {
        isWaitedFor: (target) => slots.isWaitedFor(target),
        changed: (target) => slots.changed(target),
      },
      log,
    });
    const slots = createSlots(
      self,
      config.effectsMax,
      { count: config.commandsMax, isCommand: startsProcess },
      { of: targetOf(capabilities), limitOf: circuits.limitOf },
    );
    // Until the ledger was compared with the journal.
    slots.close();
    const folder = join(config.state, journal.id);
    const artifacts = await createArtifacts({ pool, folder, ...config.spool, log });
    const whyWaiting = createWhyWaiting(targetOf(capabilities), circuits);
    const runner = createRunner({
      capabilities,
      slots,
      clock: systemClock,
      timing: config.timing,
      journalStart,
      allEnded: allEndedFor((id) => id === journal.id),
      guard: circuits.guard,
      deferralOf: whyWaiting.deferralOf,
      secretsOf: createSecrets(config.secretTable, config.secrets),
      linesOf: createLogLines({
        announce,
        clock: systemClock,
        now: Date.now,
        redact: createRedaction(config.secrets),
        logOf: artifacts.keeping.logOf,
      }),
      fit: artifacts.keeping.fit,
      log,
    });
    showGauges(gauge, slots, circuits);
    pollLedger(pool, poll);
    pollVolumes({ workspace, state: config.state, journal: kept.folder }, poll);
    return { circuits, slots, artifacts, whyWaiting, runner };
  };

  return defineService(
    {
      service: 'executor',
      decides: 'every replica',
      reads: pools.map(executorConsumer),
      migrations: join(import.meta.dirname, '..', 'migrations'),
      seal: {
        current: () => signer,
        ...(key.enrolled && { known: key.enrolled }),
        stop: () => Promise.resolve(),
      },
    },
    async (connections) => {
      const { pool, listener, meter, keys, verifyIdentity } = connections;
      const verify: Verify = (token) => SignedClaims.safeParse(keys.verify(token)).data;
      const decider = createEffectDecider({
        verify,
        classOf,
        kindOf,
        refusesWork: (uses) =>
          config.work.wanted === 'off' || startsProcess(uses) ? rules.refusal : undefined,
        timing: config.timing,
      });
      const { circuits, slots, artifacts, whyWaiting, runner } = await createRunnerOn(connections);
      const following = followRecovery(listener, circuits, systemClock);
      const enrolment = startEnrolment({
        name: journal.id,
        key,
        reach: reachOf({ ...config.http, notifyTargets: config.notifyTargets }),
        secret: joinSecret.current(),
        isNamed: () => keys.sealKey(signer.kid) !== 'unknown',
        listener,
        clock: systemClock,
        log,
      });
      connections.gauge(
        'executor_enrolled',
        'Whether approvals has the key of this executor: 1 or 0',
        [],
        () => [{ labels: {}, value: enrolment.isEnrolled() ? 1 : 0 }],
      );
      return {
        kinds: executorKinds(decider),
        onCommitted: effectMetrics(meter),
        commitGuard: fence.guard,
        statesMax: config.effectsMax + WAITING_STATES_MAX,
        bind: (engine) => {
          const hints = subjects.own('executor', 'claims');
          const claimants = createClaimants(engine, {
            self,
            clock: systemClock,
            now: Date.now,
            journalStart,
            ...remoteOrders(pool),
            announce: (hint) => void connections.announce(hints, JSON.stringify(hint)),
            mayLearnKeyOf: keys.mayLearnKeyOf,
            log,
          });
          const hearing = listener.listen([hints], (_subject, body) => claimants.hear(parseAs(Hint, body)));
          const adoption = createAdoption(engine, {
            journal: journal.id,
            find: waitingOrders(pool, pools),
            findStarts: startsUnderWay(pool),
            isQueued: runner.isQueued,
            clock: systemClock,
            lookMs: config.timing.reofferMs,
            log,
          });
          const adopting = startPeriodic('adopt waiting orders', ADOPT_EVERY_MS, adoption.look, log);
          const places = together(slots, claimants, adoption);
          const reconciler = createReconciler({
            journal,
            journals,
            registry: createExecutorRegistry(pool),
            fence,
            slots: places,
            report: (entry) => reportJournalled(engine, entry),
            beforeFirst: adoption.endFormerStarts,
            ready: Promise.all([following.asked, key.enrolled]),
            log,
          });
          return {
            ...executorBindings({ slots, runner, claimants, pools, mayLearnKeyOf: keys.mayLearnKeyOf }),
            endpoints: endpoints(
              pool,
              decider,
              artifacts.queries,
              waitingForJournals(whyWaiting, reconciler.waitsFor),
              { capabilities: all, classOf, kindOf },
              { pool, verifyIdentity, work: rules.summary, log },
              claimants,
            ),
            check: { name: 'ledger', ready: () => Promise.resolve(reconciler.isOpen()) },
            // First of all: orders that arrive from now on wait for another executor.
            drain: () => places.drain(),
            stop: async () => {
              hearing.stop();
              following.stop();
              enrolment.stop();
              await joinSecret.stop();
              await adopting.stop();
              await reconciler.stop();
            },
            stopWork: async () => {
              await runner.stop(STOP_GRACE_MS);
              circuits.stop();
              await artifacts.stop(STORE_GRACE_MS);
              await journal.release();
            },
          };
        },
      };
    },
    env,
    log,
  );
};
