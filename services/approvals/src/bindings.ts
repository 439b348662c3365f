import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import type { EffectEvent } from '@holdpoint/contracts/effect/events';
import type { RuleId } from '@holdpoint/contracts/values/ids';
import { questionOf } from '@holdpoint/contracts/workflow/approval-policy';
import { consumers } from '@holdpoint/contracts/bus/streams';
import type { Bindings } from '@holdpoint/runtime/engine/core';
import { parseCommand, parseFact } from '@holdpoint/runtime/engine/inbound';
import type { Inbound } from '@holdpoint/runtime/engine/intake';
import { OUTCOMES } from './approval/outcome.ts';
import type { Admission } from './capability/admission.ts';
import type { CallbackWork } from './callback/callback.ts';
import type { Member } from '@holdpoint/contracts/workflow/audience';
import type { AdmittedRequest, AskOutcome, Delivery } from './approval/state.ts';
import { applyFloor } from './policy/apply-floor.ts';
import type { CompiledFloor } from './policy/compile-floor.ts';
import { DEFAULT_FLOOR } from './policy/default-floor.ts';
import type { Accept, ServiceMessage, ServiceWork } from './aggregates.ts';

export type ApprovalsParts = {
  /** The standing rules that seem to match a request. They are asked after the request is stored. */
  readonly rulesFor?: (request: AdmittedRequest) => readonly RuleId[];
  /** The policy floor in force; default: the built-in one. */
  readonly floor?: () => CompiledFloor;
  /** The people whose groups are known; undefined where an identity provider says more about them. */
  readonly people?: () => readonly Member[] | undefined;
  /** Why no executor may carry out the effect, by their settings; undefined if one may. */
  readonly unreachable?: (effect: CanonicalEffect) => string | undefined;
  /**
   * Whether the effect agrees with the registry of remote capabilities; undefined for other effects. `later`: the registry has to
   * be read first. The request has this identity.
   */
  readonly admission?: (effect: CanonicalEffect, identity: string) => Admission | 'later' | undefined;
  /** Delivers a notice; the surface's confirmation comes back through `accept`. */
  readonly deliver?: (delivery: Delivery, accept: Accept) => void;
  /** Sends a callback; its end comes back through `accept`. */
  readonly callBack?: (work: CallbackWork, accept: Accept) => void;
  /** Asks the executor for the outcome of an effect; its answer comes back through `accept`. */
  readonly askOutcome?: (question: AskOutcome, accept: Accept) => void;
};

type Asked = Required<Pick<ApprovalsParts, 'rulesFor' | 'floor' | 'people' | 'unreachable' | 'admission'>>;

const commandOf =
  ({ rulesFor, floor: inForce, people, unreachable, admission }: Asked): Inbound<ServiceMessage>['decode'] =>
  (subject, body, { identity }) => {
    const command = parseCommand('approvals', subject, body);
    if (command.kind === 'call_back')
      return { kind: 'callback', aggregate: command.payload.id, message: command };
    const to = { kind: 'approval', aggregate: command.payload.id } as const;
    if (command.kind !== 'request') return { ...to, message: command };
    const { payload } = command;
    const floor = inForce();
    const admitted = questionOf(payload) === 'effect' ? admission(payload.effect, identity) : undefined;
    if (admitted === 'later') return { ...to, message: command, defer: true };
    const words = admitted !== undefined && 'words' in admitted ? admitted.words : undefined;
    const refusal =
      admitted !== undefined && 'refusal' in admitted ? admitted.refusal : unreachable(payload.effect);
    const rules = rulesFor({ ...applyFloor(payload, floor), ...words });
    const facts = { rules, floor, people: people(), ...(refusal !== undefined && { refusal }) };
    return { ...to, message: { ...command, ...facts, ...(words && { words }) } };
  };

const OUTCOME = new RegExp(`\\.(${OUTCOMES.join('|')})\\.[^.]+$`);

const epochOf = (fact: EffectEvent): number => ('epoch' in fact ? fact.epoch : 0);

/** Only effects have approvals; work does not. */
const outcomeOf: Inbound<ServiceMessage>['decode'] = (subject, body) => {
  const fact = parseFact('executor', subject, body);
  if (fact?.approval === undefined) return undefined;
  const { approval, id: effect, type: outcome } = fact;
  const message = { kind: 'outcome', fact: { id: approval, effect, outcome, epoch: epochOf(fact) } } as const;
  return { kind: 'approval', aggregate: approval, message };
};

const inboundOf = (asked: Asked): readonly Inbound<ServiceMessage>[] => {
  const readers: Readonly<Record<string, Omit<Inbound<ServiceMessage>, 'consumer'>>> = {
    approvals: { decode: commandOf(asked) },
    'approvals-effect': { decode: outcomeOf, wants: (subject) => OUTCOME.test(subject) },
  };
  return consumers
    .filter(({ service }) => service === 'approvals')
    .map((consumer) => {
      const reader = readers[consumer.name];
      if (reader === undefined) throw new Error(`no decoder for consumer ${consumer.name}`);
      return { consumer, ...reader };
    });
};

/** Approvals and standing rules exchange messages here, inside the process: no client can send them. */
type Outward = Required<Pick<ApprovalsParts, 'deliver' | 'callBack' | 'askOutcome'>>;

const performWith =
  ({ deliver, callBack, askOutcome }: Outward) =>
  (work: ServiceWork, accept: Accept): void => {
    switch (work.kind) {
      case 'use_rule': {
        const { rule, approval, rest } = work;
        return accept({ kind: 'rule', aggregate: rule, message: { kind: 'use_rule', rule, approval, rest } });
      }
      case 'keep_rule': {
        const { rule: id, spec, author, from } = work;
        return accept({ kind: 'rule', aggregate: id, message: { kind: 'add_rule', id, spec, author, from } });
      }
      case 'rule_applies': {
        const { approval, rule, author } = work;
        return accept({
          kind: 'approval',
          aggregate: approval,
          message: { kind: 'rule_applies', rule, author },
        });
      }
      case 'rule_kept':
        return accept({ kind: 'approval', aggregate: work.approval, message: { kind: 'rule_kept' } });
      case 'deliver':
        return deliver(work, accept);
      case 'send_callback':
        return callBack(work, accept);
      case 'ask_outcome':
        return askOutcome(work, accept);
    }
  };

export const approvalsBindings = ({
  rulesFor = () => [],
  floor = () => DEFAULT_FLOOR,
  people = () => undefined,
  unreachable = () => undefined,
  admission = () => undefined,
  deliver = () => undefined,
  callBack = () => undefined,
  askOutcome = () => undefined,
}: ApprovalsParts): Bindings<ServiceMessage, ServiceWork> => ({
  inbound: inboundOf({ rulesFor, floor, people, unreachable, admission }),
  perform: performWith({ deliver, callBack, askOutcome }),
});
