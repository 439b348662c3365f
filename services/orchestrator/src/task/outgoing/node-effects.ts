import { artifactLabel, scopeOf } from '@holdpoint/contracts/workflow/artifact';
import { CAPABILITIES, effectClassOf } from '@holdpoint/contracts/effect/capabilities';
import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { placeOf } from '@holdpoint/contracts/effect/describe';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { asSent, digestOf, type Json, type JsonObject, sha256Of } from '@holdpoint/contracts/values/json';
import { shownCriteria } from '@holdpoint/contracts/approval/facts-text';
import type { Payload, StepInput } from '@holdpoint/contracts/task/step';
import type { NodeDefinition } from '@holdpoint/contracts/workflow/workflow';
import { isRendered } from '@holdpoint/workflows/definition/node-texts';
import { renderText } from '@holdpoint/workflows/expression/expression';
import { budgetRequest, needsBudget } from '../model/budget.ts';
import { contextNow } from '../model/context.ts';
import { producerOf } from '../model/artifact-status.ts';
import { expressionScope } from '../model/scope.ts';
import { nodeDefinition, nodeState, type Task } from '../model/state.ts';
import { outputLabel } from '../model/workflow-index.ts';

/** A step of an attempt: its name, its capability, its arguments, and its item. */
export type StepPlan = {
  readonly step: string;
  readonly uses: string;
  readonly args: JsonObject;
  readonly item?: Json;
};

/** Throws `ExpressionError`. */
export const renderNodeText = (task: Task, text: string, more: JsonObject = {}): string =>
  text.includes('{{') ? renderText(text, expressionScope(task, text, more)) : text;

/** Renders a text of a node's effect, unless the node is `verbatim`. Throws `ExpressionError`. */
export const renderEffectText = (task: Task, { verbatim }: NodeDefinition, text: string): string =>
  verbatim === true ? text : renderNodeText(task, text);

const rendered = (task: Task, value: Json, more: JsonObject): Json => {
  if (typeof value === 'string') return renderNodeText(task, value, more);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((each: Json) => rendered(task, each, more));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, rendered(task, each, more)]));
};

/** Scripts and prompts use braces themselves, so only declared arguments are rendered. */
const argsOf = (task: Task, node: NodeDefinition, { args, item, uses }: StepPlan): JsonObject =>
  Object.fromEntries(
    Object.entries(args).map(([name, value]): [string, Json] => [
      name,
      isRendered(node, uses, name) ? rendered(task, value, item === undefined ? {} : { item }) : value,
    ]),
  );

/** The payload of a label: the text made for it, or the outputs of the node with that name. */
const payloadOf = (task: Task, maker: NodeId, label: string): Payload | undefined => {
  const { payloads, outputs = {}, exitCode = null, status } = nodeState(task, maker);
  return label === outputLabel(maker) ? { status, exit_code: exitCode, outputs } : payloads?.[label];
};

const payloadsFor = (task: Task, node: NodeDefinition): Readonly<Record<string, Payload>> => {
  const { artifactStates = [] } = nodeState(task, node.id);
  const found = (node.needs ?? []).flatMap((artifact) => {
    const label = artifactLabel(artifact);
    const maker = producerOf(task, label);
    const payload =
      maker === undefined
        ? artifactStates.find((each) => each.label === label)?.payload
        : payloadOf(task, maker, label);
    return payload === undefined ? [] : [[label, payload] as const];
  });
  return Object.fromEntries(found);
};

/** The arguments of every node by name, for the placeholders of a prompt. */
const valuesOf = (task: Task): Readonly<Record<string, string>> =>
  Object.fromEntries(
    task.definition.nodes.flatMap(({ id, args }) =>
      Object.entries(args).flatMap(([name, value]) =>
        typeof value === 'object' ? [] : [[`${id}.${name}`, String(value)] as const],
      ),
    ),
  );

const isPrompt = (uses: string): boolean => uses.endsWith('.prompt.resolve');

/** The input of a stage capability. */
const inputOf = (task: Task, node: NodeDefinition, plan: StepPlan): StepInput => {
  const { hint, preview } = nodeState(task, node.id);
  const criteria = shownCriteria(task.acceptanceCriteria);
  const payloads = payloadsFor(task, node);
  const main = plan.step === 'preview' || plan.step.startsWith('run');
  const { script, fixScript, autoResolve, agent, timeoutMs, produces, effect, onError } = node;
  const args = argsOf(task, node, plan);
  const declared = {
    ...(effect?.probe !== undefined && { probe: renderEffectText(task, node, effect.probe) }),
    ...(effect?.compensate !== undefined && { compensate: renderEffectText(task, node, effect.compensate) }),
  };
  return {
    with: main ? { ...args, ...declared } : args,
    ...(task.repository !== undefined && { repository: task.repository }),
    context: contextNow(task, node.id),
    ...(main && Object.keys(payloads).length > 0 && { payloads }),
    ...(main && produces?.succeeded && { produces: produces.succeeded }),
    ...(main && script !== undefined && { script }),
    ...(main && fixScript !== undefined && { fixScript }),
    ...(main && autoResolve !== undefined && { autoResolve }),
    ...(agent && { agent }),
    ...(isPrompt(plan.uses) && { values: valuesOf(task) }),
    ...(main && plan.uses.startsWith('cap.agent.') && criteria && { acceptanceCriteria: criteria }),
    // An effect must not change from one attempt to the next.
    ...(main && effect === undefined && hint !== undefined && { hint }),
    ...(main && onError?.strategy === 'recover' && plan.uses.startsWith('cap.agent.') && { reports: true }),
    ...(main && plan.step !== 'preview' && preview && { preview }),
    ...(timeoutMs !== undefined && { timeoutMs }),
  };
};

const argumentsOf = (task: Task, node: NodeDefinition, plan: StepPlan): JsonObject => {
  const facts = CAPABILITIES[plan.uses];
  if (facts?.stage === true) return inputOf(task, node, plan) as JsonObject;
  const args = argsOf(task, node, plan);
  const { preview } = nodeState(task, node.id);
  // The preview is approved with the effect, which must not be applied to anything else.
  return plan.step !== 'run' || previewOf(node) === undefined || preview === undefined
    ? args
    : { ...args, preview };
};

/** The capability that previews the effect of a node. */
export const previewOf = ({ uses, effect }: NodeDefinition): string | undefined => {
  if (effect === undefined) return undefined;
  return effect.previews === true ? `${uses}.preview` : CAPABILITIES[uses]?.preview;
};

const work = (task: Task, node: NodeId, { step, uses }: StepPlan, args: JsonObject): CanonicalEffect => ({
  task: task.id,
  node,
  uses,
  args,
  kind: 'work',
  effectClass: effectClassOf(uses, 'work') ?? 'idempotent',
  target: `job:${task.id}/${node}`,
  // Every attempt has its own key, because work may be repeated.
  idempotencyKey: `attempt:${String(nodeState(task, node).attempt)}:${step}`,
});

export const workEffect = (task: Task, id: NodeId, plan: StepPlan): CanonicalEffect =>
  work(task, id, plan, argumentsOf(task, nodeDefinition(task, id), plan));

/** An inspection: do these artifacts exist, and do the preconditions hold? */
export const inspectionEffect = (task: Task, id: NodeId): CanonicalEffect => {
  const { needs = [], preconditions } = nodeDefinition(task, id);
  const artifacts = needs.filter((artifact) => scopeOf(artifact) === 'repository');
  const looks = nodeState(task, id).looks ?? 0;
  const plan = { step: `inspect.${String(looks)}`, uses: 'cap.env.builtin.repository.inspect', args: {} };
  const input: StepInput = {
    with: {},
    ...(task.repository !== undefined && { repository: task.repository }),
    context: contextNow(task, id),
    artifacts,
    ...(preconditions && { preconditions }),
  };
  return work(task, id, plan, input as JsonObject);
};

const KEY_MAX = 256;

/**
 * Binds the key to the preview, so that other commits are another effect. The number of rollbacks is part of
 * it for the same reason.
 */
const keyOf = (key: string, preview: JsonObject | undefined, undone: number): string => {
  const shown = preview === undefined ? key : `${key}@${digestOf(preview).slice(0, 16)}`;
  const bound = undone === 0 ? shown : `${shown}~${String(undone)}`;
  return bound.length <= KEY_MAX ? bound : sha256Of(bound);
};

/**
 * The effect of a node, or its start, in the form that people approve. Kind and target come from the arguments: a
 * template can only raise the kind. Throws `ExpressionError`.
 */
export const gatedEffect = (task: Task, id: NodeId): CanonicalEffect => {
  const node = nodeDefinition(task, id);
  const { attempt, preview, undone = 0 } = nodeState(task, id);
  const plan: StepPlan = { step: 'run', uses: node.uses, args: node.args };
  const about = { task: task.id, node: id, uses: node.uses, args: argumentsOf(task, node, plan) };
  if (node.effect === undefined) {
    const more = needsBudget(task, node) ? budgetRequest(task) : undefined;
    const start = `start:${String(attempt)}`;
    return {
      ...about,
      ...(more && { args: { ...about.args, budget: asSent(more) } }),
      kind: 'other',
      effectClass: 'idempotent',
      target: `job:${task.id}/${id}`,
      idempotencyKey: more === undefined ? start : `${start}:budget:${String(more.extension)}`,
    };
  }
  const { kind, effectClass, target, idempotencyKey } = node.effect;
  const declared = { ...about, kind, effectClass, target: renderEffectText(task, node, target) };
  const described = placeOf(declared);
  return {
    ...declared,
    kind: described.kind,
    target: described.target,
    idempotencyKey: keyOf(renderEffectText(task, node, idempotencyKey), preview, undone),
  };
};
