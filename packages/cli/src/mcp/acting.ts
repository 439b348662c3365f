import type { Scope } from '@holdpoint/contracts/approval/access-token';
import { allows } from '@holdpoint/contracts/catalog/scopes';
import type { AgentName } from '@holdpoint/contracts/values/agent';
import { HoldpointError } from '@holdpoint/contracts/values/errors';
import type { z } from 'zod';
import type { Client } from '../bus/client.ts';

/** The agent and the user it acts for. Both are recorded. */
export type Acting = {
  readonly agent: z.infer<typeof AgentName>;
  readonly owner: string;
  /** The approvals service identifies the agent by token: its decisions count as the agent's. */
  readonly proven: boolean;
  /** Scopes of the token. Without a token, the user of the bus decides what is possible. */
  readonly scopes?: readonly Scope[] | undefined;
};

/** Identity without a token. */
export type Unproven = { readonly agent: string; readonly owner: string };

/**
 * Identifies the agent by its token. A user's own token lets the agent name itself, which is enough to submit.
 * Decisions need a token made for an agent: with a user's token the agent would decide as that user.
 */
export const actingAs = async (client: Client, { agent, owner }: Unproven): Promise<Acting> => {
  if (client.canDecide === false) return { agent, owner, proven: false };
  const known = await client.call('approvals', 'whoami', {});
  return {
    agent: known.agent ?? agent,
    owner: known.name,
    proven: known.agent !== undefined,
    scopes: known.scopes,
  };
};

/** Throws `APPROVALS_SCOPE` unless the token has the scope. */
export const requireScope = ({ scopes }: Acting, needed: Scope): void => {
  if (!allows(scopes, needed)) throw new HoldpointError('APPROVALS_SCOPE', `the token lacks scope ${needed}`);
};

/** Throws `APPROVALS_NOT_ENTITLED` unless the token belongs to an agent. */
export const requireAgentToken = ({ proven, owner, agent }: Acting): void => {
  if (proven) return;
  const how = `holdpoint token create ${agent} --agent ${agent} --scope tasks:read --scope approvals:decide`;
  throw new HoldpointError(
    'APPROVALS_NOT_ENTITLED',
    `decisions need a token of the agent, this one belongs to ${owner}: ${how}`,
  );
};
