import { artifactLabel, type Artifact } from '@holdpoint/contracts/workflow/artifact';
import { Outcome, type WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { Collector } from './collector.ts';

/** Every node produces its output under its own id without declaring it. */
const isOutputOf = (artifact: Artifact, ids: ReadonlySet<string>): boolean =>
  artifact.type === 'custom' && artifact.typeId === 'operation_output' && ids.has(artifact.key);

/** Warns about artifacts that no node of this definition produces, unless its policy waits for other runs. */
export const checkArtifacts = ({ nodes, policy }: WorkflowDefinition, { warning }: Collector): void => {
  if (policy?.missingProducer === 'wait') return;
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
        expected: 'a node that produces it, or an earlier run that did',
      });
    }
  }
};
