import type { WorkflowDefinition } from '@holdpoint/contracts/workflow/workflow';
import { checkArguments } from './argument-checks.ts';
import { checkArtifacts } from './artifact-checks.ts';
import { checkCapabilities } from './capability-checks.ts';
import { createCollector } from './collector.ts';
import { checkExpressions } from './expression-checks.ts';
import { checkGate } from './gate-checks.ts';
import { checkRecovering, checkRecoveryRules } from './recovery-checks.ts';
import { checkGraph, checkIds, checkReferences } from './graph-checks.ts';
import { graphOf } from '../graph/graph.ts';
import type { Problem } from '../problems/problem.ts';

const NODES_PER_SLICE = 50;

/** The checks of `definitionProblems` in slices, for a caller that has other things to do in between. */
export function* definitionChecks(definition: WorkflowDefinition): Generator<void, Problem[]> {
  const collector = createCollector();
  const graph = graphOf(definition);
  yield;
  checkIds(definition, collector);
  for (const [at, node] of definition.nodes.entries()) {
    if (at % NODES_PER_SLICE === 0) yield;
    checkReferences(node, graph, collector);
    checkCapabilities(node, collector);
    checkArguments(node, collector);
    checkExpressions(node, collector);
    checkGate(node, graph, collector);
    checkRecovering(node, graph, collector);
  }
  checkRecoveryRules(definition, collector);
  yield;
  checkGraph(definition, collector);
  yield;
  checkArtifacts(definition, collector);
  return collector.problems();
}

/**
 * Checks a parsed definition from any source. The compiler runs it last, the orchestrator before it accepts a
 * task. Takes linear time.
 */
export const definitionProblems = (definition: WorkflowDefinition): Problem[] => {
  const slices = definitionChecks(definition);
  let slice = slices.next();
  while (slice.done !== true) slice = slices.next();
  return slice.value;
};
