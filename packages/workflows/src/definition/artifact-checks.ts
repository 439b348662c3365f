import { artifactLabel, type Artifact } from '@holdpoint/contracts/workflow/artifact';
import { Outcome, type WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { Collector } from './collector.ts';

/** Every node leaves its output behind, under its own id, without saying so. */
const isOutputOf = (artifact: Artifact, ids: ReadonlySet<string>): boolean =>
  artifact.type === 'custom' && artifact.typeId === 'operation_output' && ids.has(artifact.key);

/** What is needed and made by no node of this definition. It may be there already, or come from another run. */
export const checkArtifacts = ({ nodes }: WorkflowDefinition, { warning }: Collector): void => {
  const ids = new Set<string>(nodes.map(({ id }) => id));
  const made = new Set(
    nodes.flatMap(({ produces = {} }) =>
      Outcome.options.flatMap((outcome) => (produces[outcome] ?? []).map(artifactLabel)),
    ),
  );
  for (const { id, needs = [] } of nodes) {
    for (const [at, artifact] of needs.entries()) {
      if (made.has(artifactLabel(artifact)) || isOutputOf(artifact, ids)) continue;
      warning({
        code: 'WORKFLOW_NEEDS_UNPRODUCED',
        path: `nodes[${id}].needs[${String(at)}]`,
        found: `${artifactLabel(artifact)}, which no node of this workflow produces`,
        expected: 'a node that produces it, or another run that has',
      });
    }
  }
};
