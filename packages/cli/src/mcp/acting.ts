import type { AgentName } from '@holdpoint/contracts/values/agent';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { z } from 'zod';
import type { Client } from '../bus/client.ts';

/** Who acts: an agent, and the person that it acts for. Both go into every record. */
export type Acting = {
  readonly agent: z.infer<typeof AgentName>;
  readonly owner: string;
  /** The approvals service knows it by its token: what it decides counts as the agent's. */
  readonly proven: boolean;
};

/** What is known of somebody without a token. */
export type Unproven = { readonly agent: string; readonly owner: string };

/**
 * A token says whose agent shows it. A person's own token makes the agent what it calls itself, which is good for asking; to
 * decide, it takes a token that was made for an agent, because with a person's it would decide as that person.
 */
export const actingAs = async (client: Client, { agent, owner }: Unproven): Promise<Acting> => {
  if (client.canDecide === false) return { agent, owner, proven: false };
  const known = await client.call('approvals', 'whoami', {});
  return { agent: known.agent ?? agent, owner: known.name, proven: known.agent !== undefined };
};

/** Throws `APPROVALS_NOT_ENTITLED` unless the token is an agent's. */
export const mustBeProven = ({ proven, owner, agent }: Acting): void => {
  if (proven) return;
  const how = `holdpoint token create ${agent} --agent ${agent} --scope approvals:read --scope approvals:decide`;
  throw new HoldpointError(
    'APPROVALS_NOT_ENTITLED',
    `an agent decides with a token of its own, and this one is ${owner}'s: ${how}`,
  );
};
