import { BODY_MAX } from '@holdpoint/contracts/approval/commands';
import { AudienceMember } from '@holdpoint/contracts/workflow/audience';
import type { Gate } from '@holdpoint/contracts/workflow/gate';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import type { JsonObject } from '@holdpoint/contracts/values/json';
import { PAYLOAD_MAX_BYTES } from '@holdpoint/contracts/bus/streams';
import type { GatePrompt } from '@holdpoint/contracts/task/events';
import { evidenceOf } from '@holdpoint/contracts/workflow/review';
import type { EffectDeclaration } from '@holdpoint/contracts/workflow/workflow';
import { evaluateCondition, ExpressionError } from '@holdpoint/workflows/expression/expression';
import { forKind } from '@holdpoint/workflows/gate/find-gate';
import { requestFacts } from '../evidence/request-facts.ts';
import { effectGate } from '../model/effect-gate.ts';
import { type CheckpointNote, checkpointNotes } from './gate-checkpoints.ts';
import { gateInputs, gateText } from './gate-inputs.ts';
import { type GatedEffect, gateScope, gateInputScope } from './gate-scope.ts';
import { nodeDefinition, nodeState, type Task } from '../model/state.ts';

export const TITLE_MAX = 500;
/** Limit for a request, with room for its message and the events that contain it. */
const REQUEST_MAX_BYTES = PAYLOAD_MAX_BYTES - 128 * 1024;

export type GateOpening = { readonly asked: GatePrompt; readonly notes: readonly CheckpointNote[] };

const bytesOf = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** The bytes that are left for a body. Throws `RangeError` when the request itself does not fit. */
export const bytesLeftBeside = (request: unknown): number => {
  const bytes = bytesOf(request);
  if (bytes > REQUEST_MAX_BYTES)
    throw new RangeError(`the request has ${String(bytes)} bytes; the limit is ${String(REQUEST_MAX_BYTES)}`);
  return REQUEST_MAX_BYTES - bytes;
};

const titleFrom = (text: string): string =>
  text.replace(/\s+/g, ' ').trim().slice(0, TITLE_MAX).toWellFormed();

const audienceFrom = (
  { id, version, request }: Gate,
  declared: EffectDeclaration['audience'],
  scope: JsonObject,
): GatePrompt['audience'] => {
  const named = (request.audience ?? []).flatMap((text) => {
    const name = gateText(text, scope).trim();
    if (name === '') return [];
    if (!AudienceMember.safeParse(name).success)
      throw new ExpressionError(
        `gate ${id}@${version}: ${JSON.stringify(name.slice(0, 100))} is no valid audience`,
      );
    return [name];
  });
  return named.length > 0 ? [...new Set(named)] : [...declared];
};

/** Shows that the text was cut. */
const CUT = '\n[…]';

const cutTo = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, Math.max(0, length - CUT.length)).toWellFormed()}${CUT}`;

/** Cuts a body to the size limits of a request and its message. */
const bodyFrom = (text: string, roomBytes: number): string => {
  let length = Math.min(text.length, BODY_MAX);
  let body = cutTo(text, length);
  for (let bytes = bytesOf(body); bytes > roomBytes && length > 0; bytes = bytesOf(body)) {
    length = Math.min(length - 1, Math.floor((length * Math.max(0, roomBytes)) / bytes));
    body = cutTo(text, length);
  }
  return body;
};

const checkConstraints = ({ constraints }: Gate, scope: JsonObject): void => {
  const broken = constraints.find(({ when }) => !evaluateCondition(when, scope));
  if (broken !== undefined) throw new ExpressionError(broken.message);
};

/**
 * Renders the request of an effect's gate completely before it opens. Undefined without a gate; `title` gives
 * the default title. Throws `ExpressionError`, also for a constraint that does not hold.
 */
export const openGate = (
  task: Task,
  id: NodeId,
  about: GatedEffect,
  title: () => string,
): GateOpening | undefined => {
  const { effect } = nodeDefinition(task, id);
  const own = effectGate(task, id);
  if (own === undefined) return undefined;
  const { kind } = about.effect;
  // The arguments may name a higher kind than the template.
  const gate = kind === 'work' || kind === effect?.kind ? own : forKind(own, kind);
  const node = { id, attempt: nodeState(task, id).attempt, rollbackHint: effect?.rollbackHint };
  const inputs = gateInputs(task, gate, about.effect, () => gateInputScope(task, id, about), node);
  const scope = gateScope(task, id, gate, about, inputs);
  checkConstraints(gate, scope);
  const { title: titled, body: written, onOpen } = gate.request;
  const head = {
    title: (titled === undefined ? '' : titleFrom(gateText(titled, scope))) || title(),
    audience: audienceFrom(gate, effect?.audience ?? [], scope),
    ...(Object.keys(inputs).length > 0 && { inputs }),
  };
  const room = bytesLeftBeside([about.effect, head, gate.policy, requestFacts(task, id), evidenceOf(task)]);
  const body = written === undefined ? '' : bodyFrom(gateText(written, scope), room);
  const notes = checkpointNotes(onOpen, scope);
  return { asked: { ...head, ...(body !== '' && { body }) }, notes };
};
