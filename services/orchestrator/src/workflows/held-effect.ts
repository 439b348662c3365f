import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { HELD_NODE, HELD_WORKFLOW, HeldInputs } from '@holdpoint/contracts/effect/hold';
import { remoteLabelOf } from '@holdpoint/contracts/effect/remote-name';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import type { BuiltInWorkflow } from './catalog.ts';

/** One effect of a remote capability, without a workflow of its own. Inputs: {@link HeldInputs}. */
export const heldEffect: BuiltInWorkflow = {
  id: HELD_WORKFLOW,
  version: '1',
  define: ({ inputs = {} }) => {
    const { data, error } = HeldInputs.safeParse(inputs);
    if (data === undefined)
      return { problems: error.issues.map(({ path, message }) => `input ${path.join('.')}: ${message}`) };
    return {
      id: HELD_WORKFLOW,
      version: '1',
      nodes: [
        {
          id: HELD_NODE as NodeId,
          // Its arguments are data of the requester.
          verbatim: true,
          uses: remoteLabelOf(data.capability),
          after: [],
          args: data.args,
          effect: {
            kind: data.kind,
            effectClass: data.class,
            idempotencyKey: data.key,
            target: data.target,
            pool: data.pool ?? DEFAULT_POOL,
            audience: data.audience ?? [],
            approvalTimeoutMs: data.approvalTimeoutMs ?? DECISION_MS,
            // Its requester handles the expiry.
            endsOnExpiry: true,
            ...(data.previews === true && { previews: true as const }),
          },
        },
      ],
    };
  },
};
