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

const situations = {
  absent: { version: 0, state: recoveryDecider.initial },
  assessed: { version: 1, state: step?.after ?? recoveryDecider.initial },
};

/** What the recovery service is asked on the bus. */
export const recovery = decisionTarget('recovery', recoveryLogic, situations, {
  'command/recovery.assess': {
    consumer: 'recovery',
    subject: 'hp.cmd.recovery.assess',
    link: (value) => ({ ...value, ...first }),
  },
});
