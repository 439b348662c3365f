import type { WorkflowDefinition } from '@holdpoint/contracts/workflow';
import { checkArtifacts } from './definition/artifact-checks.ts';
import { checkCapabilities } from './definition/capability-checks.ts';
import { createCollector } from './definition/collector.ts';
import { checkExpressions } from './definition/expression-checks.ts';
import { checkGate } from './definition/gate-checks.ts';
import { checkRecovering, checkRecoveryRules } from './definition/recovery-checks.ts';
import { checkGraph, checkIds, checkReferences } from './definition/graph-checks.ts';
import { graphOf } from './graph.ts';
import type { Problem } from './problem.ts';

/**
 * Everything that is wrong with a definition, whoever made it: what the compiler asks last, and the orchestrator before it
 * accepts a task. Its shape has been parsed before. Takes time in proportion to the size of the definition.
 */
export const definitionProblems = (definition: WorkflowDefinition): Problem[] => {
  const collector = createCollector();
  const graph = graphOf(definition);
  checkIds(definition, collector);
  for (const node of definition.nodes) {
    checkReferences(node, graph, collector);
    checkCapabilities(node, collector);
    checkExpressions(node, collector);
    checkGate(node, graph, collector);
    checkRecovering(node, graph, collector);
  }
  checkRecoveryRules(definition, collector);
  checkGraph(definition, collector);
  checkArtifacts(definition, collector);
  return collector.problems();
};
