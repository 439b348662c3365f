import type { Json } from '@holdpoint/contracts/values/json';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { checkTemplate } from '../expression/expression.ts';
import { INPUT_NAMES, gateProblems, hasExpressions } from '../gate/problems.ts';
import type { Graph } from '../graph/graph.ts';
import type { Collector } from './collector.ts';
import type { NodeText } from './node-texts.ts';

/** The texts with expressions in the inputs of a gate. */
const textsIn = (path: string, value: Json): readonly NodeText[] => {
  if (typeof value === 'string') return hasExpressions(value) ? [{ path, text: value }] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item: Json, at) => textsIn(`${path}[${String(at)}]`, item));
  return Object.entries(value).flatMap(([key, item]: [string, Json]) => textsIn(`${path}.${key}`, item));
};

/** Checks the gate of an effect, compiled or submitted directly. */
export const checkGate = ({ id, effect }: NodeDefinition, { nodes }: Graph, { error }: Collector): void => {
  const gate = effect?.gate;
  if (effect === undefined || gate === undefined) return;
  const at = `nodes[${id}].effect`;
  const { approvalTimeoutMs: timeoutMs, audience, kind } = effect;
  const waits = gate.timeoutMs[kind] ?? gate.timeoutMs.default ?? timeoutMs;
  for (const problem of gateProblems(gate, { nodes, timeoutMs: waits, audience }))
    error({ ...problem, path: `${at}.gate.${problem.path}` });
  for (const [name, value] of Object.entries(gate.given)) {
    const path = `${at}.inputs.${name}`;
    if (!Object.hasOwn(gate.inputs, name)) {
      const expected = `an input of the gate ${gate.id}`;
      error({ code: 'WORKFLOW_GATE_INPUT', path, found: `the input ${JSON.stringify(name)}`, expected });
    }
    for (const { path: where, text } of textsIn(path, value)) {
      const found = checkTemplate(text, INPUT_NAMES);
      const expected = 'a text with {{ expression }} parts';
      if (found !== undefined) error({ code: 'WORKFLOW_EXPRESSION', path: where, found, expected });
    }
  }
};
