import { DECISION_MS } from '@holdpoint/contracts/workflow/side-effect';
import type { Gate } from '@holdpoint/contracts/workflow/gate';
import type { Json } from '@holdpoint/contracts/values/json';
import type { EffectDeclaration, SideEffectKind } from '@holdpoint/contracts/workflow/workflow';
import type { Fields } from '../parameters/fields.ts';
import { AUDIENCE } from '../node/node-gates.ts';
import { shown } from '../../problems/report.ts';
import { DEFAULT_GATE, type FindGate } from '../../gate/find-gate.ts';
import { gateInputs } from './gate-inputs.ts';
import { hasExpressions } from '../../gate/problems.ts';

type GateChoice = {
  /** The name in `effect.gate`. */
  readonly gate?: string | undefined;
  readonly inputs?: Readonly<Record<string, Json>> | undefined;
};
type GateFields = Pick<EffectDeclaration, 'audience' | 'approvalTimeoutMs' | 'gate'>;

const DEFAULT_FIELDS: GateFields = { audience: [...AUDIENCE], approvalTimeoutMs: DECISION_MS };

/** Drops reminders and escalation steps that come after the request has expired. */
const within = (policy: Gate['policy'], timeoutMs: number): Gate['policy'] => {
  const { remindMs, handOn, ...rest } = policy;
  const reminders = remindMs?.filter((ms) => ms < timeoutMs) ?? [];
  const steps = handOn?.filter(({ afterMs }) => afterMs < timeoutMs) ?? [];
  return {
    ...rest,
    ...(reminders.length > 0 && { remindMs: reminders }),
    ...(steps.length > 0 && { handOn: steps }),
  };
};

/**
 * The gate fields of an effect: from the gate it names, or from the default gate. The unchanged shipped
 * default without inputs is left out, because an effect without a gate has it anyway.
 */
export const gateFor = (
  { gate: named, inputs = {} }: GateChoice,
  kind: SideEffectKind,
  find: FindGate | undefined,
  fields: Fields,
): GateFields => {
  const name = named === undefined ? DEFAULT_GATE : fields.text(named, 'effect.gate');
  const plain = name === DEFAULT_GATE && Object.keys(inputs).length === 0;
  if (find === undefined && plain) return DEFAULT_FIELDS;
  const found = find?.(name) ?? { why: `${shown(name)}, but this source has no gates` };
  if (!('gate' in found)) {
    const expected = `a gate in .holdpoint/gates, or ${DEFAULT_GATE}`;
    const meant = found.nearest === undefined ? undefined : ([name, [found.nearest]] as const);
    fields.error('WORKFLOW_EFFECT_GATE', 'effect.gate', found.why, expected, meant);
    return DEFAULT_FIELDS;
  }
  const { gate, shipped } = found;
  const given = gateInputs(gate, inputs, kind, fields);
  const names = (gate.request.audience ?? []).filter((one) => !hasExpressions(one));
  const approvalTimeoutMs = gate.timeoutMs[kind] ?? gate.timeoutMs.default ?? DECISION_MS;
  return {
    audience: names.length > 0 ? names : [...AUDIENCE],
    approvalTimeoutMs,
    ...(!(shipped && plain) && { gate: { ...gate, given, policy: within(gate.policy, approvalTimeoutMs) } }),
  };
};
