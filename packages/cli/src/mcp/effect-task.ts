import type { CapabilityView } from '@holdpoint/contracts/effect/views';
import { Audience } from '@holdpoint/contracts/workflow/audience';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { JsonObject } from '@holdpoint/contracts/values/json';
import { DEFAULT_POOL } from '@holdpoint/contracts/bus/streams';
import {
  CapabilityLabel,
  Pool,
  SideEffectKind,
  WAIT_MAX_MS,
  type WorkflowDefinition,
} from '@holdpoint/contracts/workflow/workflow';
import { defaultGate } from '@holdpoint/workflows/files/gate-source';
import { z } from 'zod';
import type { Client } from '../bus/client.ts';

/** One effect that somebody has to approve before it happens. */
export const AskedEffect = {
  goal: z.string().trim().min(1).max(10_000).describe('what it is for: people read it when they decide'),
  uses: CapabilityLabel.describe('the capability that carries it out, such as cap.file.append'),
  args: JsonObject.describe('its arguments, exactly as they will be used'),
  target: z
    .string()
    .min(1)
    .max(512)
    .describe('what it changes, such as file:notes.txt or https://api.example'),
  kind: SideEffectKind.optional().describe('what kind of effect it is; write_external, when left out'),
  audience: Audience.optional().describe('who may decide; the group operators, when left out'),
  quorum: z.int().min(1).max(20).optional().describe('so many different people have to approve'),
  fourEyes: z.boolean().optional().describe('whoever has asked, or has had it asked, may not decide'),
  timeoutMs: z.int().min(1_000).max(WAIT_MAX_MS).optional().describe('how long a decision is waited for'),
  pool: Pool.optional().describe('the executors that are to do it'),
  id: TaskId.optional().describe('id of the task: asking again with the same one finds the same task'),
} as const;

const Asked = z.object(AskedEffect);
export type Asked = z.infer<typeof Asked>;

/** The node that the effect is. */
export const EFFECT = 'effect' as NodeId;

const TIMEOUT_MS = 24 * 3_600_000;

const capability = async (client: Client, uses: Asked['uses']): Promise<CapabilityView> => {
  const { items } = await client.call('executor', 'capabilities', { uses });
  const found = items.find((item) => item.uses === uses);
  if (found !== undefined) return found;
  throw new HoldpointError('EXECUTOR_UNKNOWN_CAPABILITY', `no executor can do ${uses}`);
};

/** A workflow of one effect, with the gate that ships with Holdpoint, made no weaker than that. */
export const effectWorkflow = async (
  client: Client,
  asked: Asked,
  task: TaskId,
): Promise<WorkflowDefinition> => {
  const { uses, args, target, quorum, fourEyes } = asked;
  const { effectClass, kind: only } = await capability(client, uses);
  const gate = defaultGate();
  const policy = {
    ...gate.policy,
    ...(quorum !== undefined && { quorum }),
    ...(fourEyes !== undefined && { fourEyes }),
  };
  const node = (id: string, usesControl: string, after: readonly NodeId[]) => ({
    id: NodeId.parse(id),
    uses: CapabilityLabel.parse(usesControl),
    after: [...after],
    args: {},
  });
  return {
    id: 'agent-effect',
    version: '1',
    nodes: [
      node('prepare', 'control.prepare', []),
      {
        id: EFFECT,
        uses,
        after: [NodeId.parse('prepare')],
        args,
        effect: {
          kind: asked.kind ?? only ?? 'write_external',
          effectClass,
          // One task, one effect: the same task asked for again is the same effect.
          idempotencyKey: `agent:${task}`,
          target,
          pool: asked.pool ?? DEFAULT_POOL,
          audience: asked.audience ?? ['operators'],
          approvalTimeoutMs: asked.timeoutMs ?? TIMEOUT_MS,
          ...((quorum !== undefined || fourEyes !== undefined) && { gate: { ...gate, policy } }),
        },
      },
      node('done', 'control.terminal', [EFFECT]),
    ],
  };
};
