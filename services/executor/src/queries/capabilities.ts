import { compensationOf } from '@holdpoint/contracts/effect/capabilities';
import type { CapabilityView } from '@holdpoint/contracts/effect/views';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { JsonObject } from '@holdpoint/contracts/values/json';
import type { Decider } from '@holdpoint/runtime/decider';
import type { Endpoints } from '@holdpoint/runtime/bus/api';
import { readState } from '@holdpoint/runtime/store/read';
import type { Pool } from 'pg';
import { z } from 'zod';
import type { Capability } from '../ports/capability.ts';
import type { ClassOf, KindOf } from '../effect/admission.ts';
import type { ToEffect } from '../adapters/runner/runner.ts';
import type { EffectMessage, EffectWork } from '../effect/decide.ts';
import { type EffectState, entryIn } from '../effect/state.ts';

export type CapabilityCatalog = {
  readonly capabilities: readonly Capability[];
  readonly classOf: ClassOf;
  readonly kindOf: KindOf;
};

const classFor = ({ classOf, kindOf }: CapabilityCatalog, uses: string, kind = kindOf(uses) ?? 'other') =>
  classOf({ uses, kind, args: {} });

/** The JSON Schema of the input, without parts that it cannot express. */
const schemaOf = ({ input }: Capability): JsonObject | undefined => {
  try {
    return JsonObject.safeParse(z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' })).data;
  } catch {
    // A custom module may use its own zod, whose schemas cannot be converted.
    return undefined;
  }
};

/** The public description of a capability. */
export const describe = (
  capability: Capability,
  known: CapabilityCatalog,
  whole: boolean,
): CapabilityView => {
  const { uses } = capability;
  const kind = known.kindOf(uses);
  const input = whole ? schemaOf(capability) : undefined;
  return {
    uses,
    effectClass: classFor(known, uses) ?? 'opaque',
    work: known.classOf({ uses, kind: 'work', args: {} }) !== undefined,
    ...(kind !== undefined && { kind }),
    preview: capability.preview !== undefined,
    probe: capability.probe !== undefined,
    compensate: capability.compensate !== undefined,
    ...(input !== undefined && { input }),
  };
};

const byLabel = (a: CapabilityView, b: CapabilityView): number => (a.uses < b.uses ? -1 : 1);

/** The endpoints about capabilities. */
export const capabilityEndpoints = (
  pool: Pool,
  decider: Decider<EffectState, EffectMessage, EffectEvent, EffectWork>,
  known: CapabilityCatalog,
): Pick<Endpoints<'executor', ToEffect>, 'capabilities' | 'order'> => ({
  capabilities: {
    query: ({ uses }) => {
      const named = known.capabilities.filter((each) => uses === undefined || each.uses === uses);
      if (named.length === 0)
        throw new HoldpointError('EXECUTOR_UNKNOWN_CAPABILITY', `Unknown capability: ${uses ?? 'none'}`);
      const items = named.map((each) => describe(each, known, uses !== undefined));
      return Promise.resolve({ items: items.toSorted(byLabel) });
    },
  },
  order: {
    query: async ({ id }) => {
      const state = await readState(pool, decider, id);
      const entry = entryIn(state);
      if (entry === undefined) throw new HoldpointError('EXECUTOR_UNKNOWN_EFFECT', `Unknown effect: ${id}`);
      const { effect } = entry.order;
      const uses = compensationOf(effect.uses);
      const isKnown = known.capabilities.some(
        (each) => each.uses === effect.uses && each.compensate !== undefined,
      );
      const effectClass = isKnown ? classFor(known, uses, 'destructive_edit') : undefined;
      return {
        id: entry.order.id,
        state: state.status,
        effect,
        ...(entry.order.pool !== undefined && { pool: entry.order.pool }),
        ...(state.status === 'applied' && { outputs: state.outputs }),
        ...(effectClass !== undefined && { compensation: { uses, effectClass } }),
      };
    },
  },
});
