import type { CapabilityView } from '@holdpoint/contracts/effect/views';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import type { Audience } from '@holdpoint/contracts/workflow/audience';
import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import {
  CapabilityLabel,
  type SideEffectKind,
  type WorkflowDefinition,
} from '@holdpoint/contracts/workflow/workflow';
import { defaultGate } from '@holdpoint/workflows/files/gate-source';
import type { z } from 'zod';
import type { Client } from '../bus/client.ts';

/** One exact effect, and what its requester demands of the decision. */
export type RequestedEffect = {
  readonly uses: z.infer<typeof CapabilityLabel>;
  readonly args: JsonObject;
  readonly target: string;
  readonly side_effect_kind?: SideEffectKind | undefined;
  readonly idempotency_key: string;
  readonly rollback_hint?: string | undefined;
  readonly audience?: Audience | undefined;
  readonly quorum?: number | undefined;
  readonly fourEyes?: boolean | undefined;
  /** Time limit for the decision, in milliseconds. */
  readonly timeoutMs?: number | undefined;
  readonly pool?: string | undefined;
};

/** The node of the effect. */
export const EFFECT = 'effect' as NodeId;

const capability = async (client: Client, uses: RequestedEffect['uses']): Promise<CapabilityView> => {
  const { items } = await client.call('executor', 'capabilities', { uses });
  const found = items.find((item) => item.uses === uses);
  if (found !== undefined) return found;
  throw new HoldpointError('EXECUTOR_UNKNOWN_CAPABILITY', `no executor supports ${uses}`);
};

/**
 * A workflow with one effect and the shipped gate. The policy floor bounds audience, quorum and four eyes, and the
 * capability derives kind and target: a request can only ask for more.
 */
export const effectWorkflow = async (
  client: Client,
  id: string,
  request: RequestedEffect,
): Promise<WorkflowDefinition> => {
  const { uses, args, target, quorum, fourEyes } = request;
  const { effectClass, kind: only } = await capability(client, uses);
  const gate = defaultGate();
  const policy = {
    ...gate.policy,
    ...(quorum !== undefined && { quorum }),
    ...(fourEyes !== undefined && { fourEyes }),
  };
  const node = (name: string, usesControl: string, after: readonly NodeId[]) => ({
    id: NodeId.parse(name),
    uses: CapabilityLabel.parse(usesControl),
    after: [...after],
    args: {},
  });
  return {
    id,
    version: '1',
    nodes: [
      node('prepare', 'control.prepare', []),
      {
        id: EFFECT,
        uses,
        after: [NodeId.parse('prepare')],
        args,
        effect: {
          kind: request.side_effect_kind ?? only ?? 'write_external',
          effectClass,
          idempotencyKey: request.idempotency_key,
          target,
          ...(request.rollback_hint !== undefined && { rollbackHint: request.rollback_hint }),
          pool: request.pool ?? DEFAULT_POOL,
          audience: request.audience ?? [],
          approvalTimeoutMs: request.timeoutMs ?? DECISION_MS,
          ...(request.timeoutMs !== undefined && { endsOnExpiry: true }),
          ...((quorum !== undefined || fourEyes !== undefined) && { gate: { ...gate, policy } }),
        },
      },
      node('done', 'control.terminal', [EFFECT]),
    ],
  };
};
