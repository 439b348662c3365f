import { approvalsBindings } from '@holdpoint/approvals/bindings';
import {
  createKinds,
  type ServiceEvent,
  type ServiceMessage,
  type ServiceWork,
} from '@holdpoint/approvals/aggregates';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import type { ApprovalMessage, ApprovalState } from '@holdpoint/approvals/approval/state';
import {
  APPROVAL,
  REQUESTED_AT,
  ada,
  decider,
  FORM,
  inputFor,
  NODE,
  questionFor,
  requestFor,
  TASK,
} from '@holdpoint/approvals/testing/requests';
import {
  type CallbackMessage,
  type CallbackState,
  createCallbackDecider,
} from '@holdpoint/approvals/callback/callback';
import type { Choice } from '@holdpoint/contracts/approval/commands';
import { CanonicalEffect, effectDigest } from '@holdpoint/contracts/effect/canonical-effect';
import { placeOf } from '@holdpoint/contracts/effect/describe';
import { callbackIdOf, effectIdOf } from '@holdpoint/contracts/values/ids';
import type { Json } from '@holdpoint/contracts/values/json';
import type { Loaded } from '@holdpoint/runtime/engine/batch';
import { runOf } from '@holdpoint/runtime/testing/run';
import { z } from 'zod';
import { decisionTarget } from '../decisions.ts';

const after = (...messages: readonly ApprovalMessage[]): Loaded<ApprovalState> => {
  const run = runOf(
    decider,
    messages.map((message) => ({ message, now: REQUESTED_AT })),
  );
  return {
    kind: 'approval',
    version: run.reduce((count, { made }) => count + made.events.length, 0),
    state: run.at(-1)?.after ?? decider.initial,
  };
};
const request: ApprovalMessage = { kind: 'request', payload: requestFor() };
const question: ApprovalMessage = { kind: 'request', payload: questionFor() };
const wanted: ApprovalMessage = { kind: 'request', payload: inputFor(FORM) };
const decide = (decision: Choice, response?: Json): ApprovalMessage => ({
  kind: 'decide',
  by: ada,
  payload: { id: APPROVAL, decision, ...(response !== undefined && { response }) },
});

const situations = {
  absent: after(),
  pending: after(request),
  approved: after(request, decide('approve')),
  rejected: after(request, decide('reject')),
  questioned: after(question),
  answered: after(question, decide('applied')),
  wanted: after(wanted),
  responded: after(wanted, decide('respond', { env: 'prod', percent: 5 })),
};

const callbacks = createCallbackDecider();
const callbackAfter = (...messages: readonly CallbackMessage[]): Loaded<CallbackState | undefined> => {
  const run = runOf(
    callbacks,
    messages.map((message) => ({ message, now: REQUESTED_AT })),
  );
  return {
    kind: 'callback',
    version: run.reduce((count, { made }) => count + made.events.length, 0),
    state: run.at(-1)?.after,
  };
};
const CALLBACK = callbackIdOf(TASK, 7);
const callBack: CallbackMessage = {
  kind: 'call_back',
  payload: {
    id: CALLBACK,
    task: TASK,
    callback: { url: 'https://ci.example/done' },
    held: { id: TASK, capability: 'refund', key: 'refund:ch_1', state: 'rejected' },
    at: REQUESTED_AT,
  },
};
const callbackSituations = {
  notCalledBack: callbackAfter(),
  callbackOrdered: callbackAfter(callBack),
  callbackDelivered: callbackAfter(callBack, { kind: 'called_back', tries: 1 }),
};

const logic: ServiceLogic<ServiceMessage, ServiceEvent, ServiceWork> = {
  service: 'approvals',
  kinds: createKinds(() => 'signed', {}, decider),
  ...approvalsBindings({}),
};

const Asked = z.looseObject({ effect: CanonicalEffect });

/** Digest and ids that follow from the effect. Without them every request would be refused at once. */
const consistent = (value: object): object => {
  const asked = Asked.parse(value);
  const stated = { ...asked.effect, task: TASK, node: NODE };
  const { kind, target } = placeOf(stated);
  const effect = { ...stated, kind, target };
  const effectId = effectIdOf(TASK, NODE, effect.idempotencyKey);
  return { ...asked, id: APPROVAL, task: TASK, node: NODE, effect, effectId, digest: effectDigest(effect) };
};

/** Commands to the approvals service on the bus. Decisions come over the API. */
export const approval = decisionTarget(
  'approval',
  logic,
  { ...situations, ...callbackSituations },
  {
    'command/approval.request': {
      consumer: 'approvals',
      subject: 'hp.cmd.approval.request',
      situations: Object.keys(situations),
      link: consistent,
    },
    'command/approval.cancel': {
      consumer: 'approvals',
      subject: 'hp.cmd.approval.cancel',
      situations: Object.keys(situations),
      link: (value) => ({ ...value, id: APPROVAL }),
    },
    'command/approval.call_back': {
      consumer: 'approvals',
      subject: 'hp.cmd.approval.call_back',
      situations: Object.keys(callbackSituations),
      link: (value) => ({ ...value, id: CALLBACK, task: TASK }),
    },
  },
);
