import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { NodeDraft } from '../node/node-draft.ts';
import { AGENT, CONFLICT_GATE } from '../node/labels.ts';
import { resolvesConflicts } from '../node/node-gates.ts';

export type AgentFor = (nodeUses: string) => readonly string[] | undefined;

const CONFIGURE = '[agents.default] agent.command in config.toml';

/**
 * The command of the agent that a node runs. Without one, a conflict gate falls back to a person who resolves
 * the conflict.
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
    fields.error('WORKFLOW_AGENT_MISSING', 'agent', 'no agent command', CONFIGURE);
    return {};
  }
  const expected = `${CONFIGURE}: without it, a person resolves conflicts`;
  fields.warning('WORKFLOW_AGENT_MISSING', 'args.auto_resolve', 'no agent command', expected);
  return { autoResolve: false };
};
