import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { Gate, GateInput } from '@holdpoint/contracts/workflow/gate';
import type { Json, JsonObject } from '@holdpoint/contracts/values/json';
import {
  evaluateExpression,
  ExpressionError,
  renderTemplate,
} from '@holdpoint/workflows/expression/expression';
import { expectedOf, fitsInput, hasExpressions, KIND_INPUT } from '@holdpoint/workflows/gate/problems';
import { parseBool } from '@holdpoint/workflows/reading/coerce';
import { expressionScope } from '../model/scope.ts';
import type { Task } from '../model/state.ts';

/** Longer texts are cut: a long goal must not fail the gate. */
const TEXT_MAX = 262_144;

/** Renders a text of a gate. Throws `ExpressionError`. */
export const gateText = (text: string, scope: JsonObject): string => renderTemplate(text, scope, TEXT_MAX);

/** Limit for all inputs together in characters of JSON, because the request contains them. */
const INPUTS_MAX = 65_536;

const WHOLE = /^\s*\{\{((?:(?!\{\{|\}\})[\s\S])*)\}\}\s*$/;

/** Fills in the texts of a value. A text that is one expression gives its value with its type. Any other text is rendered. */
export const filledIn = (value: Json, scopeOf: (text: string) => JsonObject): Json => {
  if (typeof value === 'string') {
    const expression = WHOLE.exec(value)?.[1];
    if (expression !== undefined) return evaluateExpression(expression.trim(), scopeOf(value));
    return hasExpressions(value) ? gateText(value, scopeOf(value)) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each: Json) => filledIn(each, scopeOf));
  return Object.fromEntries(
    Object.entries(value).map(([key, each]: [string, Json]) => [key, filledIn(each, scopeOf)]),
  );
};

/** Task inputs are often texts, so numbers and booleans are parsed; an expression may give one for a text. */
const read = (value: Json, type: GateInput['type'], written: Json): Json => {
  const isScalar = typeof value === 'number' || typeof value === 'boolean';
  if (type === 'string' && isScalar && typeof written === 'string') return String(value);
  if (typeof value !== 'string') return value;
  if (type === 'boolean') return parseBool(value) ?? value;
  const isNumber = (type === 'integer' || type === 'number') && /^-?\d{1,15}(\.\d{1,15})?$/.test(value);
  return isNumber ? Number(value) : value;
};

/** The node whose effect the gate holds. */
export type GatedNode = {
  readonly id: string;
  readonly attempt: number;
  readonly rollbackHint?: string | undefined;
};

/** A fact, if the input has its type: a gate may use the name for something else. */
const valueOf = (facts: Readonly<Record<string, Json>>, name: string, input: GateInput): Json | undefined => {
  const fact = Object.hasOwn(facts, name) ? facts[name] : undefined;
  return fact !== undefined && fitsInput(fact, input) ? fact : undefined;
};

/** The rendered inputs of a gate, with types and defaults applied. Throws `ExpressionError`. */
export const gateInputs = (
  task: Task,
  gate: Gate,
  { kind, uses, target, idempotencyKey }: CanonicalEffect,
  /** Only for values with expressions. */
  scope: () => JsonObject,
  node: GatedNode,
): JsonObject => {
  const fail = (what: string): never => {
    throw new ExpressionError(`gate ${gate.id}@${gate.version}: ${what}`);
  };
  const scopeOf = (text: string): JsonObject => ({ ...expressionScope(task, text), ...scope() });
  const attempt = String(node.attempt);
  /** Facts of the request: no effect can give others. */
  const facts: Readonly<Record<string, Json>> = {
    task_id: task.id,
    attempt_id: `${node.id}/${attempt}`,
    requested_by: task.requestedBy,
    idempotency_key: idempotencyKey,
  };
  const defaults: Readonly<Record<string, Json>> = {
    [KIND_INPUT]: kind,
    requested_action: `${uses} on ${target}`,
    ...(node.rollbackHint !== undefined && { rollback_hint: node.rollbackHint }),
  };
  const inputs = Object.fromEntries(
    Object.entries(gate.inputs).map(([name, input]): [string, Json] => {
      const given = Object.hasOwn(gate.given, name) ? gate.given[name] : undefined;
      const value = given === undefined ? undefined : read(filledIn(given, scopeOf), input.type, given);
      const known = Object.hasOwn(defaults, name) ? defaults[name] : undefined;
      const found = valueOf(facts, name, input) ?? value ?? known ?? input.default ?? null;
      if (found === null) return input.required === true ? fail(`input ${name} is missing`) : [name, null];
      return fitsInput(found, input) ? [name, found] : fail(`input ${name} must be ${expectedOf(input)}`);
    }),
  );
  if (JSON.stringify(inputs).length > INPUTS_MAX) fail(`the inputs exceed ${String(INPUTS_MAX)} characters`);
  return inputs;
};
