import { NodeId } from '@holdpoint/contracts/values/ids';
import type { NodeDefinition, WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { NodeDefinition as Node } from '@holdpoint/contracts/workflow/workflow';
import type { z } from 'zod';

/** A node with defaults for tests: plain work. */
export type NodeText = Pick<z.input<typeof Node>, 'id'> & Partial<z.input<typeof Node>>;

export const idOf = (id: string): NodeId => NodeId.parse(id);

export const work = (id: string, node: Partial<NodeText> = {}): NodeDefinition =>
  Node.parse({ uses: 'cap.env.shell.command.run', after: [], args: {}, ...node, id });

export const definitionOf = (...nodes: readonly NodeText[]): WorkflowDefinition => ({
  id: 'template.test',
  version: 'v1',
  nodes: nodes.map(({ id, ...node }) => work(id, node)),
});
