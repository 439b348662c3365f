import { commandIdOf } from '@holdpoint/contracts/values/ids';
import { consumers } from '@holdpoint/contracts/bus/streams';
import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { ServiceLogic } from '@holdpoint/runtime/engine/core';
import type { Decider } from '@holdpoint/runtime/decider';
import { parseCommand, parseFact, type Routed } from '@holdpoint/runtime/engine/inbound';
import type { Inbound } from '@holdpoint/runtime/engine/intake';
import { taskIdOf } from './api.ts';
import type { TaskMessage } from './task/model/messages.ts';
import {
  createOrchestratorDecider,
  type OrchestratorEvent,
  type OrchestratorMessage,
  type OrchestratorState,
} from './orchestrator.ts';
import { type Known, NOTHING_KNOWN } from './submission-context.ts';
import { snapshotDue } from './snapshots.ts';
import type { TaskState } from './task/model/state.ts';
import { summarise } from './queries/tasks.ts';

/** Facts about effects that end nothing: for whoever watches, not for the task. */
const UNDER_WAY = /\.(prepared|started|cancel_requested|superseded|probed|answered)\.[^.]+$/;

const commandOf =
  ({ open, named, isCertain }: Known): Inbound<OrchestratorMessage>['decode'] =>
  (subject, body, { identity }) => {
    const command = parseCommand('orchestrator', subject, body);
    const { kind, payload } = command;
    if (kind === 'registry') return { aggregate: payload.id, message: { kind, ...payload } };
    const task =
      kind === 'submit' ? taskIdOf(payload.id, identity) : kind === 'recover' ? payload.task : payload.id;
    return {
      aggregate: task,
      message: {
        ...command,
        ...(kind === 'submit' && { payload: named(payload) }),
        task,
        commandId: commandIdOf(kind, identity),
        ...(kind === 'submit' && { openCircuits: open() }),
      },
      ...(kind === 'submit' && !isCertain(payload) && { later: true }),
    } as Routed<OrchestratorMessage>;
  };

const decodersWith = (known: Known): Readonly<Record<string, Inbound<OrchestratorMessage>['decode']>> => ({
  orchestrator: commandOf(known),
  'orchestrator-approval': (subject, body) => {
    const fact = parseFact('approvals', subject, body);
    if (fact?.type !== 'resolved') return undefined;
    return { aggregate: fact.task, message: { kind: 'approval', fact } };
  },
  'orchestrator-effect': (subject, body) => {
    const fact = parseFact('executor', subject, body);
    return fact && { aggregate: fact.task, message: { kind: 'effect', fact } };
  },
});

const inbound = (decoders: ReturnType<typeof decodersWith>): readonly Inbound<OrchestratorMessage>[] =>
  consumers
    .filter(({ service }) => service === 'orchestrator')
    .map((consumer) => {
      const decode = decoders[consumer.name];
      if (decode === undefined) throw new Error(`nothing reads the consumer ${consumer.name}`);
      return { consumer, decode, wants: (subject) => !UNDER_WAY.test(subject) };
    });

export const orchestratorLogic = (
  tasks?: Decider<TaskState, TaskMessage, TaskEvent>,
  known: Known = NOTHING_KNOWN,
): ServiceLogic<OrchestratorState, OrchestratorMessage, OrchestratorEvent, never> => ({
  kind: {
    service: 'orchestrator',
    aggregate: 'task',
    decider: createOrchestratorDecider(tasks),
    summarise,
    snapshotDue,
    taskOf: (id, { phase }) => (phase === 'absent' || phase === 'board' ? undefined : id),
    statusOf: ({ phase }) => phase,
  },
  inbound: inbound(decodersWith(known)),
});
