import {
  CAPABILITIES,
  CONTROLS,
  effectClassOf,
  isCustom,
  namesProbe,
  type CapabilityFacts,
} from '@holdpoint/contracts/effect/capabilities';
import { isRemote } from '@holdpoint/contracts/effect/remote-name';
import { Outcome, type EffectDeclaration, type NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import type { Collector } from './collector.ts';

/** Every label that a node may use. */
const LABELS: ReadonlySet<string> = new Set([...Object.keys(CAPABILITIES), ...CONTROLS]);

/** Labels of the format that no executor supports yet. */
const NOT_YET = /^cap\.env\.builtin\.(patch|build)\.|\.git\.save_worktree_patch$/;

export const factsOf = (uses: string): CapabilityFacts | undefined =>
  Object.hasOwn(CAPABILITIES, uses) ? CAPABILITIES[uses] : undefined;

const checkLabel = (uses: string, path: string, { error }: Collector): boolean => {
  if (LABELS.has(uses) || isCustom(uses) || isRemote(uses)) return true;
  const notYet = NOT_YET.test(uses);
  error({
    code: notYet ? 'WORKFLOW_USES_NOT_YET' : 'WORKFLOW_USES_UNKNOWN',
    path,
    found: notYet ? `${uses}, which is not supported yet` : `the unknown label ${uses}`,
    expected: 'the label of a capability or of a control',
    ...(!notYet && { meant: { word: uses, known: LABELS } }),
  });
  return false;
};

/** Checks that the node may have this effect, of this kind and class. */
const checkEffect = (node: NodeDefinition, effect: EffectDeclaration, { error }: Collector): void => {
  const path = `nodes[${node.id}].effect`;
  if (node.uses.startsWith('control.')) {
    error({
      code: 'WORKFLOW_EFFECT_ON_CONTROL',
      path,
      found: `an effect on ${node.uses}`,
      expected: 'no effect: controls change no external state',
    });
    return;
  }
  if (node.forEach !== undefined) {
    error({
      code: 'WORKFLOW_EFFECT_FOR_EACH',
      path: `nodes[${node.id}].forEach`,
      found: 'an effect with for_each',
      expected: 'one node per effect: an approval covers one effect',
    });
  }
  if (node.until !== undefined) {
    error({
      code: 'WORKFLOW_EFFECT_UNTIL',
      path: `nodes[${node.id}].until`,
      found: 'an effect with until',
      expected: 'no until: effects happen once, only work repeats',
    });
  }
  if (effect.previews === true && !isCustom(node.uses) && !isRemote(node.uses)) {
    error({
      code: 'WORKFLOW_EFFECT_USES',
      path: `${path}.previews`,
      found: 'true',
      expected: `no previews: only cap.custom. and cap.remote. capabilities take it (uses ${node.uses})`,
    });
  }
  const kind = factsOf(node.uses)?.kind;
  if (kind !== undefined && kind !== effect.kind) {
    error({
      code: 'WORKFLOW_EFFECT_KIND',
      path: `${path}.kind`,
      found: effect.kind,
      expected: `${kind}, the only kind of ${node.uses}`,
    });
    return;
  }
  const { probe = node.args['probe'] ?? null } = effect;
  const effectClass = effectClassOf(node.uses, effect.kind, { probe: namesProbe({ with: { probe } }) });
  if (effectClass === undefined || effectClass === effect.effectClass) return;
  error({
    code: 'WORKFLOW_EFFECT_CLASS',
    path: `${path}.effectClass`,
    found: effect.effectClass,
    expected: `${effectClass}, the class of the capability`,
  });
};

/** A control has no executor, so it cannot be repeated. */
const checkRepeated = ({ id, uses, forEach, until }: NodeDefinition, { error }: Collector): void => {
  if (!CONTROLS.has(uses) || (forEach === undefined && until === undefined)) return;
  error({
    code: 'WORKFLOW_CONTROL_REPEATED',
    path: `nodes[${id}].${forEach === undefined ? 'until' : 'forEach'}`,
    found: `${uses} with a repetition`,
    expected: 'a capability that an executor runs',
  });
};

/** A program of a user acts on the world: it is an effect. */
const REMOTE: Pick<CapabilityFacts, 'work' | 'kind'> = {};

/** Anything beyond plain work needs a declared effect, because only declared effects wait for approval. */
const checkUndeclared = ({ id, uses }: NodeDefinition, { error }: Collector): void => {
  const facts = isRemote(uses) && !uses.endsWith('.preview') ? REMOTE : factsOf(uses);
  if (facts === undefined || (facts.work === true && facts.kind === undefined)) return;
  error({
    code: 'WORKFLOW_EFFECT_MISSING',
    path: `nodes[${id}].effect`,
    found: `${uses} without an effect`,
    expected: facts.kind === undefined ? 'an effect' : `an effect of the kind ${facts.kind}`,
  });
};

/** Steps around a node are plain work: they have no approval of their own. */
const checkSteps = (node: NodeDefinition, collector: Collector): void => {
  for (const field of ['before', 'afterwards', 'finally'] as const) {
    for (const [at, { uses }] of (node[field] ?? []).entries()) {
      const path = `nodes[${node.id}].${field}[${String(at)}].uses`;
      if (!checkLabel(uses, path, collector)) continue;
      if (factsOf(uses)?.work === true && !uses.startsWith('control.')) continue;
      collector.error({
        code: 'WORKFLOW_STEP_NOT_WORK',
        path,
        found: uses,
        expected: 'plain work: effects and controls need nodes of their own',
      });
    }
  }
};

/** Checks that the capability of a node exists and that its effect is declared correctly. */
export const checkCapabilities = (node: NodeDefinition, collector: Collector): void => {
  const path = `nodes[${node.id}]`;
  if (checkLabel(node.uses, `${path}.uses`, collector)) {
    if (node.effect === undefined) checkUndeclared(node, collector);
    else checkEffect(node, node.effect, collector);
  }
  checkRepeated(node, collector);
  if (node.uses === 'cap.agent.invoke' && node.agent === undefined) {
    collector.error({
      code: 'WORKFLOW_AGENT_MISSING',
      path: `${path}.agent`,
      found: 'an agent without a command',
      expected: 'the agent command from config.toml',
    });
  }
  if (
    node.uses === 'control.terminal' &&
    Outcome.options.some((outcome) => (node.on?.[outcome] ?? []).length > 0)
  ) {
    collector.error({
      code: 'WORKFLOW_TERMINAL_ROUTES',
      path: `${path}.on`,
      found: 'routes out of a terminal',
      expected: 'no routes: nothing follows a terminal',
    });
  }
  checkSteps(node, collector);
};
