import { commandIdOf } from '@holdpoint/contracts/ids';
import { consumers } from '@holdpoint/contracts/streams';
import type { TaskEvent } from '@holdpoint/contracts/task';
import { type ServiceLogic, SNAPSHOT_EVERY } from '@holdpoint/runtime/core';
import type { Decider } from '@holdpoint/runtime/decider';
import { parseCommand, parseFact } from '@holdpoint/runtime/inbound';
import type { Inbound } from '@holdpoint/runtime/intake';
import { taskIdOf } from './api.ts';
import { taskDecider } from './domain/decide.ts';
import type { TaskMessage } from './domain/messages.ts';
import type { TaskState } from './domain/state.ts';
import { summarise } from './projections/tasks.ts';

/** Facts about effects that end nothing: for whoever watches, not for the task. */
const UNDER_WAY = /\.(prepared|started|cancel_requested|superseded)\.[^.]+$/;

const decoders: Readonly<Record<string, Inbound<TaskMessage>['decode']>> = {
  orchestrator: (subject, body, { identity }) => {
    const command = parseCommand('orchestrator', subject, body);
    const task =
      command.kind === 'submit'
        ? taskIdOf(command.payload.id, identity)
        : command.kind === 'recover'
          ? command.payload.task
          : command.payload.id;
    return { aggregate: task, message: { ...command, task, commandId: commandIdOf(command.kind, identity) } };
  },
  'orchestrator-approval': (subject, body) => {
    const fact = parseFact('approvals', subject, body);
    return fact && { aggregate: fact.task, message: { kind: 'approval', fact } };
  },
  'orchestrator-effect': (subject, body) => {
    const fact = parseFact('executor', subject, body);
    return fact && { aggregate: fact.task, message: { kind: 'effect', fact } };
  },
};

const inbound = (): readonly Inbound<TaskMessage>[] =>
  consumers
    .filter(({ service }) => service === 'orchestrator')
    .map((consumer) => {
      const decode = decoders[consumer.name];
      if (decode === undefined) throw new Error(`nothing reads the consumer ${consumer.name}`);
      return { consumer, decode, wants: (subject) => !UNDER_WAY.test(subject) };
    });

export const orchestratorLogic = (
  decider: Decider<TaskState, TaskMessage, TaskEvent> = taskDecider,
): ServiceLogic<TaskState, TaskMessage, TaskEvent, never> => ({
  kind: { service: 'orchestrator', aggregate: 'task', decider, summarise, snapshotEvery: SNAPSHOT_EVERY },
  inbound: inbound(),
});
