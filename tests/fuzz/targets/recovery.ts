import { recoveryDecider, type RecoveryMessage } from '@holdpoint/recovery/domain/recovery';
import { NodeId, TaskId } from '@holdpoint/contracts/ids';
import { recoveryLogic } from '@holdpoint/recovery/logic';
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
  kind: 'circuit',
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

const failures = {
  absent: { version: 0, state: recoveryDecider.initial },
  assessed: { version: 1, state: step?.after ?? recoveryDecider.initial },
};

/** What the recovery service is asked on the bus. */
export const recovery = decisionTarget(
  'recovery',
  recoveryLogic,
  { ...failures, ...circuits },
  {
    'command/recovery.assess': {
      consumer: 'recovery',
      subject: 'hp.cmd.recovery.assess',
      situations: Object.keys(failures),
      link: (value) => ({ ...value, ...first }),
    },
    'command/recovery.circuit': {
      consumer: 'recovery',
      subject: 'hp.cmd.recovery.circuit',
      situations: Object.keys(circuits),
      link: (value) => ({ ...value, target }),
    },
  },
);
