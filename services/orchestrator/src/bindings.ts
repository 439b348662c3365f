import { consumers } from '@holdpoint/contracts/bus/streams';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { commandIdOf } from '@holdpoint/contracts/values/ids';
import type { Decider } from '@holdpoint/runtime/decider';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import { parseCommand, parseFact } from '@holdpoint/runtime/engine/inbound';
import type { Inbound } from '@holdpoint/runtime/engine/intake';
import { type OrchestratorEvent, orchestratorKinds, type OrchestratorMessage } from './aggregates.ts';
import { taskIdOf } from './api.ts';
import { type SubmissionContext, EMPTY_CONTEXT } from './submission-context.ts';
import type { TaskMessage } from './task/model/messages.ts';
import type { TaskState } from './task/model/state.ts';

type Decode = Inbound<OrchestratorMessage>['decode'];

/** Events of effects that end nothing; a task does not wait for them. */
const UNDER_WAY = /\.(prepared|started|cancel_requested|superseded|probed|answered)\.[^.]+$/;

const commandOf =
  ({ openCircuits: open, withProgram: named, isCertain }: SubmissionContext): Decode =>
  (subject, body, { identity }) => {
    const command = parseCommand('orchestrator', subject, body);
    switch (command.kind) {
      case 'registry': {
        const { kind, payload } = command;
        return { kind: 'registry', aggregate: payload.id, message: { kind, ...payload } };
      }
      case 'submit': {
        const payload = named(command.payload);
        const task = taskIdOf(payload.id, identity);
        return {
          kind: payload.program === undefined ? 'task' : 'program',
          aggregate: task,
          message: { kind: 'submit', payload, task, openCircuits: open() },
          ...(!isCertain(command.payload) && { defer: true }),
        };
      }
      case 'recover': {
        const { task } = command.payload;
        return { kind: 'task', aggregate: task, message: { ...command, task } };
      }
      case 'circuit_state':
      case 'watch':
      case 'notify': {
        const task = command.payload.id;
        return { kind: 'task', aggregate: task, message: { ...command, task } };
      }
      default: {
        const task = command.payload.id;
        const commandId = commandIdOf(command.kind, identity);
        return { kind: 'task', aggregate: task, message: { ...command, task, commandId } };
      }
    }
  };

const decodersWith = (known: SubmissionContext): Readonly<Record<string, Decode>> => ({
  orchestrator: commandOf(known),
  'orchestrator-approval': (subject, body) => {
    const event = parseFact('approvals', subject, body);
    if (event?.type !== 'resolved') return undefined;
    return { kind: 'task', aggregate: event.task, message: { kind: 'approval', event } };
  },
  'orchestrator-effect': (subject, body) => {
    const event = parseFact('executor', subject, body);
    return event && { kind: 'task', aggregate: event.task, message: { kind: 'effect', event } };
  },
});

export const orchestratorInbound = (known: SubmissionContext): readonly Inbound<OrchestratorMessage>[] => {
  const decoders = decodersWith(known);
  return consumers
    .filter(({ service }) => service === 'orchestrator')
    .map((consumer) => {
      const decode = decoders[consumer.name];
      if (decode === undefined) throw new Error(`no decoder for consumer ${consumer.name}`);
      return { consumer, decode, wants: (subject) => !UNDER_WAY.test(subject) };
    });
};

export const orchestratorLogic = (
  tasks?: Decider<TaskState, TaskMessage, TaskEvent>,
  known: SubmissionContext = EMPTY_CONTEXT,
): ServiceLogic<OrchestratorMessage, OrchestratorEvent> => ({
  service: 'orchestrator',
  kinds: orchestratorKinds(tasks),
  inbound: orchestratorInbound(known),
});
