import { capabilityIdOf } from '@holdpoint/contracts/values/ids';
import type { ApprovalsEndpoints } from './api.ts';
import { callerFor } from './callers.ts';
import { listCapabilities } from './queries/capabilities.ts';
import type { SurfaceDeps } from './surfaces/surface-deps.ts';

/** Registers, withdraws and lists remote capabilities. */
export const capabilityEndpoints = (
  deps: SurfaceDeps,
): Pick<ApprovalsEndpoints, 'capability_register' | 'capability_withdraw' | 'capability_list'> => ({
  capability_register: {
    command: async (definition, caller) => {
      const { name: by } = await callerFor(deps, caller, 'capability_register');
      const aggregate = capabilityIdOf(definition.name);
      return { kind: 'capability', aggregate, message: { kind: 'register_capability', definition, by } };
    },
  },
  capability_withdraw: {
    command: async ({ name }, caller) => {
      const { name: by } = await callerFor(deps, caller, 'capability_withdraw');
      const aggregate = capabilityIdOf(name);
      return { kind: 'capability', aggregate, message: { kind: 'withdraw_capability', name, by } };
    },
  },
  capability_list: { query: (wanted) => listCapabilities(deps.pool, wanted) },
});
