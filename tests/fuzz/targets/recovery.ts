import { attemptsDecider, type AttemptsMessage } from '@holdpoint/recovery/attempts/decide';
import { circuitDecider, type CircuitMessage } from '@holdpoint/recovery/circuit/decide';
import { workflowCircuit } from '@holdpoint/contracts/recovery/circuit';
import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { recoveryLogic } from '@holdpoint/recovery/bindings';
import { runOf } from '@holdpoint/runtime/testing/run';
import { decisionTarget, NOW } from '../decisions.ts';

const first = { task: TaskId.parse('t-1'), node: NodeId.parse('append'), attempt: 1 } as const;
const assess: AttemptsMessage = {
  kind: 'assess',
  payload: { ...first, outcome: 'failed', error: { code: 'RUNTIME_UNAVAILABLE', message: '' } },
};

const target = 'https://api.example';
const found = (state: 'open' | 'half_open'): CircuitMessage => ({
  kind: 'circuit_report',
  payload: { target, state, executor: 'executor-1' },
});
const due: CircuitMessage = { kind: 'timer', name: 'circuit', data: null };
const held: CircuitMessage = { kind: 'set_circuit', payload: { target, state: 'open' }, by: 'ada' };
const circuitAfter = (...messages: readonly CircuitMessage[]) => {
  const run = runOf(
    circuitDecider,
    messages.map((message) => ({ message, now: NOW })),
  );
  return { kind: 'circuit', version: messages.length, state: run.at(-1)?.after ?? circuitDecider.initial };
};

const circuits = {
  noCircuit: { kind: 'circuit', version: 0, state: circuitDecider.initial },
  open: circuitAfter(found('open')),
  halfOpen: circuitAfter(found('open'), due),
  tried: circuitAfter(found('open'), due, found('half_open')),
  held: circuitAfter(held),
};

const workflow = workflowCircuit('fuzz');
const givenUp = (task: string): CircuitMessage => ({
  kind: 'circuit_record_failure',
  payload: {
    target: workflow,
    task: TaskId.parse(task),
    circuit: { failures: 2, windowMs: 60_000, coolDownMs: 60_000 },
  },
});
const enters = (task: string): CircuitMessage => ({
  kind: 'circuit_acquire',
  payload: { target: workflow, task: TaskId.parse(task) },
});
const workflowCircuits = {
  noCircuit: circuits.noCircuit,
  counted: circuitAfter(givenUp('t-2')),
  workflowOpen: circuitAfter(givenUp('t-2'), givenUp('t-3')),
  workflowTried: circuitAfter(givenUp('t-2'), givenUp('t-3'), due, enters('t-1')),
};

const doubt: AttemptsMessage = {
  kind: 'assess',
  payload: { ...first, outcome: 'in_doubt', error: { code: 'EXECUTOR_OUTCOME_UNKNOWN', message: '' } },
};
const recorded: AttemptsMessage = { kind: 'record_attempt', payload: { ...first, good: 'c'.repeat(40) } };
const attemptsAfter = (message: AttemptsMessage) => {
  const [only] = runOf(attemptsDecider, [{ message, now: NOW }]);
  return { kind: 'attempts', version: 1, state: only?.after ?? attemptsDecider.initial };
};
const failures = {
  absent: { kind: 'attempts', version: 0, state: attemptsDecider.initial },
  assessed: attemptsAfter(assess),
  recorded: attemptsAfter(recorded),
  stuck: attemptsAfter(doubt),
};

/** Commands to the recovery service on the bus. */
export const recovery = decisionTarget(
  'recovery',
  recoveryLogic,
  { ...failures, ...circuits, ...workflowCircuits },
  {
    'command/recovery.assess': {
      consumer: 'recovery',
      subject: 'hp.cmd.recovery.assess',
      situations: Object.keys(failures),
      link: (value) => ({ ...value, ...first }),
    },
    'command/recovery.record_attempt': {
      consumer: 'recovery',
      subject: 'hp.cmd.recovery.record_attempt',
      situations: Object.keys(failures),
      link: (value) => ({ ...value, ...first, attempt: 2 }),
    },
    'command/recovery.job_unstuck': {
      consumer: 'recovery',
      subject: 'hp.cmd.recovery.job_unstuck',
      situations: Object.keys(failures),
      link: (value) => ({ ...value, ...first }),
    },
    'command/recovery.circuit_record_failure': {
      consumer: 'recovery',
      subject: 'hp.cmd.recovery.circuit_record_failure',
      situations: Object.keys(workflowCircuits),
      link: (value) => ({ ...value, target: workflow }),
    },
    'command/recovery.circuit_acquire': {
      consumer: 'recovery',
      subject: 'hp.cmd.recovery.circuit_acquire',
      situations: Object.keys(workflowCircuits),
      link: (value) => ({ ...value, target: workflow, task: first.task }),
    },
    'command/recovery.circuit_report': {
      consumer: 'recovery',
      subject: 'hp.cmd.recovery.circuit_report',
      situations: Object.keys(circuits),
      link: (value) => ({ ...value, target }),
    },
  },
);
