import { recoveryDecider, type RecoveryMessage } from '@holdpoint/recovery/attempts/decide';
import { workflowCircuit } from '@holdpoint/contracts/recovery/circuit';
import { NodeId, TaskId } from '@holdpoint/contracts/values/ids';
import { recoveryLogic } from '@holdpoint/recovery/bindings';
import { runOf } from '@holdpoint/runtime/testing/run';
import { decisionTarget, NOW } from '../decisions.ts';

const first = { task: TaskId.parse('t-1'), node: NodeId.parse('append'), attempt: 1 } as const;
const assess: RecoveryMessage = {
  kind: 'assess',
  payload: { ...first, outcome: 'failed', error: { code: 'RUNTIME_UNAVAILABLE', message: '' } },
};
const [step] = runOf(recoveryDecider, [{ message: assess, now: NOW }]);

const target = 'https://api.example';
const found = (state: 'open' | 'half_open'): RecoveryMessage => ({
  kind: 'circuit_report',
  payload: { target, state, executor: 'executor-1' },
});
const due: RecoveryMessage = { kind: 'timer', name: 'circuit', data: null };
const held: RecoveryMessage = { kind: 'set_circuit', payload: { target, state: 'open' } };
const circuitAfter = (...messages: readonly RecoveryMessage[]) => {
  const run = runOf(
    recoveryDecider,
    messages.map((message) => ({ message, now: NOW })),
  );
  return { version: messages.length, state: run.at(-1)?.after ?? recoveryDecider.initial };
};

const circuits = {
  noCircuit: { version: 0, state: recoveryDecider.initial },
  open: circuitAfter(found('open')),
  halfOpen: circuitAfter(found('open'), due),
  tried: circuitAfter(found('open'), due, found('half_open')),
  held: circuitAfter(held),
};

const workflow = workflowCircuit('fuzz');
const givenUp = (task: string): RecoveryMessage => ({
  kind: 'circuit_record_failure',
  payload: {
    target: workflow,
    task: TaskId.parse(task),
    circuit: { failures: 2, windowMs: 60_000, coolDownMs: 60_000 },
  },
});
const enters = (task: string): RecoveryMessage => ({
  kind: 'circuit_acquire',
  payload: { target: workflow, task: TaskId.parse(task) },
});
const workflowCircuits = {
  noCircuit: circuits.noCircuit,
  counted: circuitAfter(givenUp('t-2')),
  workflowOpen: circuitAfter(givenUp('t-2'), givenUp('t-3')),
  workflowTried: circuitAfter(givenUp('t-2'), givenUp('t-3'), due, enters('t-1')),
};

const doubt: RecoveryMessage = {
  kind: 'assess',
  payload: { ...first, outcome: 'in_doubt', error: { code: 'EXECUTOR_OUTCOME_UNKNOWN', message: '' } },
};
const recorded: RecoveryMessage = { kind: 'record_attempt', payload: { ...first, good: 'c'.repeat(40) } };
const failures = {
  absent: { version: 0, state: recoveryDecider.initial },
  assessed: { version: 1, state: step?.after ?? recoveryDecider.initial },
  recorded: circuitAfter(recorded),
  stuck: circuitAfter(doubt),
};

/** What the recovery service is asked on the bus. */
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
