import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import type { NodeDefinition, Step } from '@holdpoint/contracts/workflow/workflow';
import { parseBool } from '../../reading/coerce.ts';
import type { NodeDraft } from './node-draft.ts';
import type { Gate } from './gates.ts';
import { CICD, CICD_GATE, COMMAND, CONFLICT_GATE, STOP_GATE } from './labels.ts';
import { firstText, textArg } from './node-args.ts';

/** Every operator may approve. */
export const AUDIENCE = ['operators'];

type Gates = Pick<
  NodeDefinition,
  'approval' | 'script' | 'fixScript' | 'autoResolve' | 'gatePolicy' | 'afterwards' | 'args'
>;

/** The argument wins over the gate. */
const resolves = ({ node: { args }, gates }: NodeDraft, kind: Gate['kind']): boolean =>
  parseBool(textArg(args, 'auto_resolve')) ?? gates.some((gate) => gate.kind === kind && gate.autoResolve);

export const resolvesConflicts = (draft: NodeDraft): boolean => resolves(draft, 'custom');

const policyOf = (gate: Gate | undefined): Pick<Gates, 'gatePolicy'> =>
  gate?.policy === undefined ? {} : { gatePolicy: gate.policy };

const scripted = (gate: Gate | undefined): Pick<Gates, 'script' | 'gatePolicy'> => ({
  ...(gate !== undefined && gate.script.trim() !== '' && { script: gate.script }),
  ...policyOf(gate),
});

const approval = ({ gates, fields }: NodeDraft): Pick<Gates, 'approval'> => {
  const asked = gates.findIndex(({ kind, required }) => kind === 'approval' && required);
  const gate = gates[asked];
  if (gate === undefined) return {};
  if (gate.policy !== undefined && gate.policy !== 'block') {
    const field = `gates[${String(asked)}].policy`;
    fields.error('WORKFLOW_GATE_POLICY', field, gate.policy, 'block: a missing approval always blocks');
  }
  return { approval: { audience: [...AUDIENCE], timeoutMs: DECISION_MS } };
};

const cicd = (draft: NodeDraft, gate: Gate | undefined): Gates => {
  const { node, fields } = draft;
  const fix = firstText(node.args, ['auto_resolve_command', 'auto_resolve_script']);
  const fixes = resolves(draft, 'cicd');
  const made = scripted(gate);
  if (fixes && fix === '' && made.script !== undefined) {
    const expected = 'args.auto_resolve_command or args.auto_resolve_script with a repair script';
    fields.warning('WORKFLOW_CICD_FIX', 'args', 'auto_resolve without a script', expected);
  }
  return { args: node.args, ...made, ...(fixes && fix !== '' && { fixScript: fix }) };
};

/** The kind of gate that belongs to a label. */
const OWN: ReadonlyMap<string, Gate['kind']> = new Map([
  [STOP_GATE, 'script'],
  [CICD_GATE, 'cicd'],
  [CONFLICT_GATE, 'custom'],
  [CICD, 'cicd'],
]);

/**
 * At a working node, a script of a gate runs after success. At a control it has nothing to follow, so it is
 * refused.
 */
const strayStep = (gate: Gate, index: number, { node: { uses }, fields }: NodeDraft): readonly Step[] => {
  const field = `gates[${String(index)}]`;
  if (gate.kind === 'custom') {
    fields.warning(
      'WORKFLOW_GATE_UNUSED',
      field,
      gate.id,
      `a node that uses ${CONFLICT_GATE}: elsewhere it has no effect`,
    );
    return [];
  }
  if (gate.kind === 'approval' || gate.script.trim() === '') return [];
  if (uses.startsWith('control.')) {
    const expected = `a node that uses ${gate.kind === 'cicd' ? CICD_GATE : STOP_GATE}`;
    fields.error('WORKFLOW_GATE_PLACE', field, `a gate of the kind ${gate.kind}`, expected);
  } else if (gate.policy !== undefined && gate.policy !== 'block') {
    const expected = `block, or a node of its own that uses ${gate.kind === 'cicd' ? CICD_GATE : STOP_GATE}`;
    fields.error('WORKFLOW_GATE_POLICY', `${field}.policy`, gate.policy, expected);
  }
  return [{ uses: COMMAND, args: { script: gate.script } }];
};

const ownGates = (draft: NodeDraft): Gates => {
  const { uses, args } = draft.node;
  const gate = draft.gates.find(({ kind }) => kind === OWN.get(uses));
  switch (uses) {
    case STOP_GATE:
      return { args, ...scripted(gate) };
    case CICD_GATE:
      return cicd(draft, gate);
    case CONFLICT_GATE:
      return { args, autoResolve: resolvesConflicts(draft), ...policyOf(gate) };
    case CICD: {
      const script = gate?.script ?? '';
      const falls = firstText(args, ['command', 'script']) === '' && script.trim() !== '';
      return { args: falls ? { ...args, script } : args, ...policyOf(gate) };
    }
    default:
      return { args };
  }
};

/** The definition fields that follow from the gates of a node. */
export const nodeGates = (draft: NodeDraft): Gates => {
  const { uses, afterwards = [] } = draft.node;
  const own = OWN.get(uses);
  const stray = draft.gates.flatMap((gate, index) =>
    gate.kind === own ? [] : strayStep(gate, index, draft),
  );
  const steps = [...afterwards, ...stray];
  return { ...ownGates(draft), ...approval(draft), ...(steps.length > 0 && { afterwards: steps }) };
};
