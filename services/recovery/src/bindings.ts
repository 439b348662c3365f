import type { CommandOf } from '@holdpoint/contracts/catalog/commands';
import type { CircuitEvent } from '@holdpoint/contracts/recovery/circuit';
import type { RecoveryEvent } from '@holdpoint/contracts/recovery/events';
import { circuitIdOf } from '@holdpoint/contracts/values/ids';
import { consumers } from '@holdpoint/contracts/bus/streams';
import type { Decider } from '@holdpoint/runtime/decider';
import { type ServiceLogic, SNAPSHOT_EVERY, snapshotEvery } from '@holdpoint/runtime/engine/core';
import { parseCommand, type Routed } from '@holdpoint/runtime/engine/inbound';
import type { Addressed } from '@holdpoint/runtime/engine/kinds';
import { attemptsDecider, type AttemptsMessage } from './attempts/decide.ts';
import type { AttemptsEvent, History } from './attempts/history.ts';
import type { Circuit } from './circuit/state.ts';
import { circuitDecider, type CircuitMessage } from './circuit/decide.ts';
import { attemptsSummary, circuitSummary } from './queries/summary.ts';

/** A message to the attempts of a task, or to a circuit. */
export type RecoveryMessage = Addressed<'attempts', AttemptsMessage> | Addressed<'circuit', CircuitMessage>;

/** Circuits are addressed by their names, attempts by their task. */
const routed = (message: CommandOf<'recovery'>): Routed<RecoveryMessage> => {
  switch (message.kind) {
    case 'circuit_report':
    case 'circuit_record_failure':
    case 'circuit_acquire':
      return { kind: 'circuit', aggregate: circuitIdOf(message.payload.target), message };
    case 'assess':
    case 'record_attempt':
    case 'job_unstuck':
      return { kind: 'attempts', aggregate: message.payload.task, message };
  }
};

export type RecoveryDeciders = {
  readonly attempts: Decider<History, AttemptsMessage, AttemptsEvent>;
  readonly circuit: Decider<Circuit | undefined, CircuitMessage, CircuitEvent>;
};

const common = { publishedAs: 'recovery', snapshotDue: snapshotEvery(SNAPSHOT_EVERY) } as const;

export const createRecoveryLogic = ({
  attempts,
  circuit,
}: RecoveryDeciders): ServiceLogic<RecoveryMessage, RecoveryEvent> => ({
  service: 'recovery',
  kinds: {
    attempts: { ...common, decider: attempts, summarise: attemptsSummary, taskOf: (id) => id },
    circuit: { ...common, decider: circuit, summarise: circuitSummary },
  },
  inbound: consumers
    .filter(({ service }) => service === 'recovery')
    .map((consumer) => ({
      consumer,
      decode: (subject, body) => routed(parseCommand('recovery', subject, body)),
    })),
});

export const recoveryLogic = createRecoveryLogic({ attempts: attemptsDecider, circuit: circuitDecider });
