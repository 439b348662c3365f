import { join } from 'node:path';
import { consumersFor } from '@holdpoint/contracts/bus/streams';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { Logger } from '@holdpoint/runtime/observability/log';
import { readEnv, sealKeyFile } from '@holdpoint/runtime/service/config';
import { followSealKey } from '@holdpoint/runtime/service/seal-key';
import { startPeriodic } from '@holdpoint/runtime/observability/periodic';
import { defineService, type ServiceDefinition } from '@holdpoint/runtime/service/service';
import { systemClock } from '@holdpoint/runtime/service/system-clock';
import { defaultGate } from '@holdpoint/workflows/files/gate-source';
import { shippedFiles } from '@holdpoint/workflows/files/shipped';
import { createProgramCatalog } from './adapters/program-catalog.ts';
import { createWakeHeld } from './adapters/wake-held.ts';
import { createWorkflowCircuits } from './adapters/workflow-circuits.ts';
import { endpoints, values } from './api.ts';
import { OrchestratorEnv, readTiming } from './config.ts';
import { createTaskDecider } from './task/decide.ts';
import { builtIn, findWorkflow } from './workflows/catalog.ts';
import { stageWorkflows } from './workflows/stages.ts';
import { LISTED } from './queries/tasks.ts';
import { taskMetrics } from './metrics.ts';
import type { SubmissionContext } from './submission-context.ts';
import { orchestratorKinds } from './aggregates.ts';
import { orchestratorInbound } from './bindings.ts';
import { createSenders } from './sender.ts';
import type { Timing } from './timing.ts';

const PURGE_VALUES_EVERY_MS = 60_000;

const defineOrchestrator = (env: OrchestratorEnv, log: Logger, timing: Timing): ServiceDefinition => {
  const workflows = [...builtIn, ...stageWorkflows(shippedFiles())];
  const kinds = orchestratorKinds(createTaskDecider(workflows, defaultGate(), timing.task), timing);
  const isShipped = ({ workflow }: SubmitTask) => findWorkflow(workflows, workflow) !== undefined;
  return defineService(
    {
      service: 'orchestrator',
      migrations: join(import.meta.dirname, '..', 'migrations'),
      seal: followSealKey(sealKeyFile('orchestrator', env), log),
      topologySeedFile: env.HOLDPOINT_NATS_TOPOLOGY_SEED_FILE,
      topology: {
        consumers: consumersFor(env.HOLDPOINT_DEPLOYMENT_POOLS).map((consumer) => ({
          ...consumer,
          ackWaitMs: timing.ackWaitMs,
        })),
        replicas: env.HOLDPOINT_STREAM_REPLICAS,
      },
    },
    ({ pool, verifyIdentity, isOwner, listener, meter, assertWorkConsumers }) => ({
      kinds,
      list: LISTED,
      onCommitted: taskMetrics(meter),
      bind: (engine) => {
        const catalog = createProgramCatalog(log);
        const learning = catalog.follow(pool);
        const purging = startPeriodic(
          'purge of values',
          PURGE_VALUES_EVERY_MS,
          () => values(pool).purge(),
          log,
        );
        const wake = createWakeHeld(pool, engine, isOwner, log);
        const circuits = createWorkflowCircuits(() => void wake());
        const following = circuits.follow(listener, systemClock);
        const senderOf = createSenders(verifyIdentity);
        const known: SubmissionContext = {
          openCircuits: circuits.open,
          withProgram: catalog.named,
          isCertain: (submission) => isShipped(submission) || catalog.isCertain(submission),
        };
        return {
          inbound: orchestratorInbound(known, senderOf),
          endpoints: endpoints(
            pool,
            known,
            async (programs) => {
              const rows = await catalog.register(pool, programs);
              await assertWorkConsumers(rows.map(({ hash }) => hash));
              return rows;
            },
            async (submission) =>
              isShipped(submission) ? catalog.named(submission) : catalog.lookUp(pool, submission),
            workflows,
            senderOf,
          ),
          stop: async () => {
            following.stop();
            await purging.stop();
            await learning.stop();
          },
        };
      },
    }),
    env,
    log,
  );
};

/** The service as its settings define it. Throws `ConfigError`. */
export const define = (env: NodeJS.ProcessEnv, log: Logger): ServiceDefinition =>
  defineOrchestrator(readEnv(OrchestratorEnv, env), log, readTiming(env));
