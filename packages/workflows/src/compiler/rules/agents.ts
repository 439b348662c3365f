import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { NodeDraft } from '../node/node-draft.ts';
import { AGENT, CONFLICT_GATE } from '../node/labels.ts';
import { resolvesConflicts } from '../node/node-gates.ts';

/** The command that is configured for a capability. */
export type AgentFor = (nodeUses: string) => readonly string[] | undefined;

const CONFIGURE = '[agents.default] agent.command in config.toml';

/**
 * The command of the agent that a node runs. A conflict gate can do without: then whoever merges resolves the conflict, as
 * without auto_resolve.
 */
export const agentOf = (
  draft: NodeDraft,
  agentFor: AgentFor,
): Pick<NodeDefinition, 'agent' | 'autoResolve'> => {
  const {
    fields,
    node: { uses },
  } = draft;
  const asks = uses === AGENT || (uses === CONFLICT_GATE && resolvesConflicts(draft));
  if (!asks) return {};
  const agent = agentFor(uses);
  if (agent !== undefined && agent.length > 0) return { agent: [...agent] };
  if (uses === AGENT) {
    fields.error('WORKFLOW_AGENT_MISSING', 'agent', 'no command for an agent', CONFIGURE);
    return {};
  }
  const expected = `${CONFIGURE}: until then a person resolves conflicts`;
  fields.warning('WORKFLOW_AGENT_MISSING', 'args.auto_resolve', 'no command for an agent', expected);
  return { autoResolve: false };
};
