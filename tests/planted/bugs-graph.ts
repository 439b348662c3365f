import type { Bug } from './bug.ts';
import { boardLocks, graphFound, graphLoops, SEEDS } from './tests.ts';

const DOMAIN = 'services/orchestrator/src';

export const GRAPH_BUGS: readonly Bug[] = [
  {
    name: 'a lock that is shared is given to one that wants it alone',
    file: `${DOMAIN}/registry/locks.ts`,
    find: `claimed === undefined || (claimed === 'shared' && mode === 'shared')`,
    replace: `claimed === undefined || claimed === 'shared'`,
    caughtBy: [SEEDS, boardLocks('shares with those that share, until somebody waits to have it alone')],
  },
  {
    name: 'what is locked in vain is not given back',
    file: `${DOMAIN}/task/replies/on-peer-changed.ts`,
    find: `    if (held) draft.send(releaseLocks(draft.task(), node, attempt, draft.now));`,
    replace: ``,
    caughtBy: [SEEDS],
  },
  {
    name: 'a loop goes round once more than its budget',
    file: `${DOMAIN}/task/graph/loops.ts`,
    find: `(nodeState(task, node).loops ?? 0) < (nodeDefinition(task, node).retry?.budget ?? BUDGET_DEFAULT)`,
    replace: `(nodeState(task, node).loops ?? 0) <= (nodeDefinition(task, node).retry?.budget ?? BUDGET_DEFAULT)`,
    caughtBy: [SEEDS, graphLoops('that is not given is three')],
  },
  {
    name: 'a route back resets its target alone',
    file: `${DOMAIN}/task/graph/rewind.ts`,
    find: `targets.flatMap((target) => downstreamOf(graph, target))`,
    replace: `targets.flatMap((target) => downstreamOf(graph, target).slice(0, 1))`,
    caughtBy: [
      SEEDS,
      graphLoops('starts its target and what is downstream of it anew, each with its next attempt'),
    ],
  },
  {
    name: 'what starts anew is not taken back where it runs',
    file: `${DOMAIN}/task/model/evolve.ts`,
    find: `      ...withdrawalOf(before, 'it starts anew', id === route ? 'run' : undefined),`,
    replace: ``,
    caughtBy: [SEEDS, graphLoops('takes back what its downstream has under way')],
  },
  {
    name: 'of the ways of success one is enough',
    file: `${DOMAIN}/task/graph/activation.ts`,
    find: `  return taken && !unreached ? RUN`,
    replace: `  return taken ? RUN`,
    caughtBy: [
      SEEDS,
      graphFound('does not run when that one ended in a third way, though all others have succeeded'),
    ],
  },
  {
    name: 'another task is waited for, whatever it comes to',
    file: `${DOMAIN}/task/graph/activation.ts`,
    find: `    if (outcome !== 'succeeded') return`,
    replace: `    if (outcome === 'cancelled') return`,
    caughtBy: [SEEDS],
  },
  {
    name: 'an effect with steps around it is ordered as work',
    file: `${DOMAIN}/task/graph/steps.ts`,
    find: `if (node.effect !== undefined && plan.step === 'run') orderApproved(draft, id);`,
    replace: `if (node.effect !== undefined && plan.step === 'always') orderApproved(draft, id);`,
    caughtBy: [SEEDS, graphFound('is not ordered again when its task, or the node, goes on after a pause')],
  },
  {
    name: 'an effect whose outcome is told twice goes on twice',
    file: `${DOMAIN}/task/replies/on-effect-event.ts`,
    find: `  if (done?.['run'] !== undefined || isKnown) return false;`,
    replace: `  if (isKnown) return false;`,
    caughtBy: [SEEDS, graphFound('whose outcome is told twice goes on once')],
  },
  {
    name: 'what belongs to a run is told to all others',
    file: `${DOMAIN}/task/outgoing/artifact-report.ts`,
    find: `        if (scopeOf(artifact) === 'run') return [];`,
    replace: ``,
    caughtBy: [SEEDS],
  },
];
