import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { checkArtifacts } from './artifact-checks.ts';
import { checkCapabilities } from './capability-checks.ts';
import { createCollector } from './collector.ts';
import { checkExpressions } from './expression-checks.ts';
import { checkGate } from './gate-checks.ts';
import { checkRecovering, checkRecoveryRules } from './recovery-checks.ts';
import { checkGraph, checkIds, checkReferences } from './graph-checks.ts';
import { graphOf } from '../graph/graph.ts';
import type { Problem } from '../problems/problem.ts';

/**
 * Checks a parsed definition from any source. The compiler runs it last, the orchestrator before it accepts a
 * task. Takes linear time.
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
