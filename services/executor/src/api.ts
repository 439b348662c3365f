import type { EffectView } from '@holdpoint/contracts/effect/views';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { Decider } from '@holdpoint/runtime/decider';
import type { OwnEndpoints } from '@holdpoint/runtime/bus/api';
import { readState } from '@holdpoint/runtime/store/read';
import type { Pool } from 'pg';
import type { ArtifactQueries } from './adapters/artifacts/queries.ts';
import type { WhyWaiting } from './adapters/circuits/why-waiting.ts';
import type { Claimants } from './adapters/claimants/claimants.ts';
import { capabilityEndpoints, type CapabilityCatalog } from './queries/capabilities.ts';
import type { ToEffect } from './adapters/runner/runner.ts';
import type { EffectMessage, EffectWork } from './effect/decide.ts';
import type { EffectState } from './effect/state.ts';
import { claimEndpoints } from './queries/claims.ts';
import { effectView, listEffects } from './queries/effects.ts';
import { executorEndpoints, type ExecutorQueries } from './queries/executors.ts';

const WAITING: ReadonlySet<string> = new Set(['prepared', 'in_doubt']);

const waitingFor = (view: EffectView, waits: string | undefined): EffectView =>
  waits === undefined ? view : { ...view, deferredReason: waits };

export const endpoints = (
  pool: Pool,
  decider: Decider<EffectState, EffectMessage, EffectEvent, EffectWork>,
  artifacts: ArtifactQueries,
  whyWaiting: WhyWaiting,
  known: CapabilityCatalog,
  executors: ExecutorQueries,
  claimants: Claimants,
): OwnEndpoints<'executor', ToEffect> => ({
  ...capabilityEndpoints(pool, decider, known),
  ...executorEndpoints(executors),
  ...claimEndpoints(claimants, executors.verifyIdentity),
  get: {
    query: async ({ id }) => {
      const state = await readState(pool, decider, id);
      const view = effectView(state);
      if (view === undefined) throw new HoldpointError('EXECUTOR_UNKNOWN_EFFECT', `Unknown effect: ${id}`);
      return waitingFor(view, whyWaiting.of(state));
    },
  },
  list: {
    query: async ({ task }) => {
      const items = await listEffects(pool, task);
      if (!whyWaiting.any()) return { items };
      const told = items.map(async (view) =>
        WAITING.has(view.state)
          ? waitingFor(view, whyWaiting.of(await readState(pool, decider, view.id)))
          : view,
      );
      return { items: await Promise.all(told) };
    },
  },
  artifacts: { query: (request) => artifacts.list(request) },
  artifact: { query: (request) => artifacts.get(request) },
});
