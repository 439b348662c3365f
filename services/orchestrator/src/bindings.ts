import { isPeopleCommand, type PeopleCommand } from '@holdpoint/contracts/approval/identity';
import { consumers } from '@holdpoint/contracts/bus/streams';
import type { CommandOf } from '@holdpoint/contracts/catalog/commands';
import type { SubmitTask } from '@holdpoint/contracts/task/commands';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import { hasCode, HoldpointError } from '@holdpoint/contracts/values/errors';
import { commandIdOf } from '@holdpoint/contracts/values/ids';
import type { Decider } from '@holdpoint/runtime/decider';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import { type Arrival, parseCommand, parseFact, type Routed } from '@holdpoint/runtime/engine/inbound';
import type { Inbound } from '@holdpoint/runtime/engine/intake';
import { type OrchestratorEvent, orchestratorKinds, type OrchestratorMessage } from './aggregates.ts';
import { taskIdOf } from './api.ts';
import { named, NO_IDENTITIES, type SenderOf } from './sender.ts';
import { type SubmissionContext, EMPTY_CONTEXT, routedSubmission } from './submission-context.ts';
import type { TaskMessage } from './task/model/messages.ts';
import type { Sender } from './task/model/sender.ts';
import type { TaskState } from './task/model/state.ts';

type Decode = Inbound<OrchestratorMessage>['decode'];

/** Events of effects that end nothing; a task does not wait for them. */
const UNDER_WAY = /\.(prepared|started|cancel_requested|superseded|probed|answered)\.[^.]+$/;

type Command = CommandOf<'orchestrator'>;

const routedTo = (
  { openCircuits: open, withProgram, isCertain }: SubmissionContext,
  command: Command,
  sender: Sender,
  identity: string,
): Routed<OrchestratorMessage> => {
  switch (command.kind) {
    case 'registry': {
      const { kind, payload } = command;
      return { kind: 'registry', aggregate: payload.id, message: { kind, ...payload } };
    }
    case 'submit': {
      const payload = withProgram(command.payload);
      const task = taskIdOf(payload.id, identity);
      return {
        ...routedSubmission({ kind: 'submit', payload, task, openCircuits: open(), sender }),
        ...(!isCertain(command.payload) && { defer: true }),
      };
    }
    case 'recover': {
      const { task } = command.payload;
      return { kind: 'task', aggregate: task, message: { ...command, task } };
    }
    case 'circuit_state':
    case 'watch':
    case 'notify':
    case 'callback_taken': {
      const task = command.payload.id;
      return { kind: 'task', aggregate: task, message: { ...command, task } };
    }
    default: {
      const task = command.payload.id;
      const commandId = commandIdOf(command.kind, identity);
      return { kind: 'task', aggregate: task, message: { ...command, task, commandId, sender } };
    }
  }
};

/** Commands of the services. Their seals have been verified, so the names in them count. */
const commandOf =
  (known: SubmissionContext): Decode =>
  (subject, body, { identity }) =>
    routedTo(known, parseCommand('orchestrator', subject, body), { kind: 'service' }, identity);

/** Without a key for the assertion the message waits. */
const senderIn = (senderOf: SenderOf, kind: PeopleCommand, { arrived }: Arrival): Sender | 'later' => {
  if (arrived === undefined) return { kind: 'unverified' };
  try {
    return senderOf(kind, arrived.header, arrived.at);
  } catch (error) {
    if (hasCode(error, 'RUNTIME_UNAVAILABLE')) return 'later';
    throw error;
  }
};

/** Commands of people, who are unverified unless a valid assertion says who they are. */
const peopleCommandOf =
  (known: SubmissionContext, senderOf: SenderOf): Decode =>
  (subject, body, arrival) => {
    const command = parseCommand('orchestrator', subject, body);
    const { kind, payload } = command;
    if (!isPeopleCommand(kind))
      throw new HoldpointError('ERR_FORBIDDEN', `only services send ${kind}: it does not come from people`);
    const sender = senderIn(senderOf, kind, arrival);
    const field = kind === 'submit' ? 'requestedBy' : 'by';
    const by: Sender = sender === 'later' ? { kind: 'unverified' } : sender;
    const signed = { kind, payload: named(payload as SubmitTask, field, by) } as Command;
    return { ...routedTo(known, signed, by, arrival.identity), ...(sender === 'later' && { defer: true }) };
  };

const decodersWith = (known: SubmissionContext, senderOf: SenderOf): Readonly<Record<string, Decode>> => ({
  orchestrator: commandOf(known),
  'orchestrator-people': peopleCommandOf(known, senderOf),
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

export const orchestratorInbound = (
  known: SubmissionContext,
  senderOf: SenderOf = NO_IDENTITIES,
): readonly Inbound<OrchestratorMessage>[] => {
  const decoders = decodersWith(known, senderOf);
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
  senderOf: SenderOf = NO_IDENTITIES,
): ServiceLogic<OrchestratorMessage, OrchestratorEvent> => ({
  service: 'orchestrator',
  kinds: orchestratorKinds(tasks),
  inbound: orchestratorInbound(known, senderOf),
});
