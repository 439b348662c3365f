import type { Gate, GateInput } from '@holdpoint/contracts/workflow/gate';
import type { Json } from '@holdpoint/contracts/values/json';
import type { SideEffectKind } from '@holdpoint/contracts/workflow/side-effect';
import { checkTemplate } from '../../expression/expression.ts';
import { parseBool } from '../../reading/coerce.ts';
import type { Fields } from '../parameters/fields.ts';
import { shown } from '../../problems/report.ts';
import { expectedOf, fitsInput, INPUT_NAMES, hasExpressions, KIND_INPUT } from '../../gate/problems.ts';

type Values = Readonly<Record<string, Json>>;

/** Replaces placeholders and checks expressions in every text of a value. */
const expand = (value: Json, field: string, fields: Fields): Json => {
  if (typeof value === 'string') {
    const text = fields.text(value, field);
    const problem = hasExpressions(text) ? checkTemplate(text, INPUT_NAMES) : undefined;
    if (problem !== undefined)
      fields.error('WORKFLOW_EXPRESSION', field, problem, 'a text with {{ expression }} parts');
    return text;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value))
    return value.map((item: Json, at) => expand(item, `${field}[${String(at)}]`, fields));
  return Object.fromEntries(
    Object.entries(value).map(([key, item]: [string, Json]) => [
      key,
      expand(item, `${field}.${key}`, fields),
    ]),
  );
};

/** Parses a text into the type of its input: template parameters are always texts. */
const fromText = (value: Json, { type }: GateInput): Json => {
  if (typeof value !== 'string') return value;
  const text = value.trim();
  if (type === 'boolean') return parseBool(text) ?? value;
  if (type !== 'integer' && type !== 'number') return value;
  return /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text) ? Number(text) : value;
};

/** A value that is one single expression can have any type, known only when approval is requested. */
const isExpression = (value: Json): boolean =>
  typeof value === 'string' && /^\s*\{\{/.test(value) && /\}\}\s*$/.test(value);

const checkInput = (gate: Gate, name: string, value: Json, fields: Fields): Json => {
  const field = `effect.inputs.${name}`;
  const input = Object.hasOwn(gate.inputs, name) ? gate.inputs[name] : undefined;
  if (input === undefined) {
    const known = Object.keys(gate.inputs);
    const expected = known.length === 0 ? `no inputs: ${gate.id} has none` : `one of ${known.join(', ')}`;
    fields.error('WORKFLOW_GATE_INPUT', field, `the input ${shown(name)}`, expected, [name, known]);
    return value;
  }
  const made = fromText(expand(value, field, fields), input);
  const later = input.type !== 'string' && isExpression(made);
  if (!later && !fitsInput(made, input))
    fields.error('WORKFLOW_GATE_INPUT', field, shown(made), expectedOf(input));
  return made;
};

/** The inputs of a gate with their types checked, including the kind of the effect. */
export const gateInputs = (gate: Gate, values: Values, kind: SideEffectKind, fields: Fields): Values => {
  const given = Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, checkInput(gate, name, value, fields)]),
  );
  const input = gate.inputs[KIND_INPUT];
  if (input !== undefined) {
    const field = 'effect.side_effect_kind';
    if (!fitsInput(kind, input))
      fields.error('WORKFLOW_GATE_KIND', field, kind, `${expectedOf(input)} (the gate ${gate.id})`);
    if (given[KIND_INPUT] !== undefined && given[KIND_INPUT] !== kind)
      fields.error('WORKFLOW_GATE_KIND', `effect.inputs.${KIND_INPUT}`, shown(given[KIND_INPUT]), kind);
    given[KIND_INPUT] = kind;
  }
  for (const [name, { required = false }] of Object.entries(gate.inputs)) {
    if (!required || Object.hasOwn(given, name)) continue;
    fields.error(
      'WORKFLOW_GATE_INPUT',
      `effect.inputs.${name}`,
      'nothing',
      `a value: the gate ${gate.id} requires it`,
    );
  }
  return given;
};
