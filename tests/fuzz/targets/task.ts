import { orchestratorLogic } from '@holdpoint/orchestrator/logic';
import { taskDecider } from '@holdpoint/orchestrator/domain/decide';
import type { TaskState } from '@holdpoint/orchestrator/domain/state';
import { approvalOf, EFFECT, GRANT, histories, NODE, TASK } from '@holdpoint/orchestrator/testing/tasks';
import type { Loaded } from '@holdpoint/runtime/batch';
import { decisionTarget } from '../decisions.ts';

const absent: Loaded<TaskState> = { version: 0, state: taskDecider.initial };
const situations: Readonly<Record<string, Loaded<TaskState>>> = {
  absent,
  ...Object.fromEntries(
    Object.entries(histories).map(([situation, events]) => [
      situation,
      {
        version: events.length,
        state: events.reduce((state, event) => taskDecider.evolve(state, event), taskDecider.initial),
      },
    ]),
  ),
};

const command = (name: string, fixed: object) => ({
  consumer: 'orchestrator',
  subject: `hp.cmd.task.${name}`,
  link: (value: object): object => ({ ...value, ...fixed }),
});
const node = { node: NODE, attempt: 1 };
const resolved = {
  consumer: 'orchestrator-approval',
  subject: `hp.evt.approval.resolved.${approvalOf(1)}`,
  link: (value: object): object => ({ ...value, id: approvalOf(1), task: TASK, ...node }),
};
const reported = (event: string, more: object = {}) => ({
  consumer: 'orchestrator-effect',
  subject: `hp.evt.effect.${event}.${EFFECT}`,
  link: (value: object): object => ({ ...value, id: EFFECT, task: TASK, ...node, ...more }),
});
/** The order that a running task of these situations has given. */
const asked = histories.awaiting.find((event) => event.type === 'approval_requested');
const order = { id: EFFECT, attempt: 1, effect: asked?.effect, digest: asked?.digest, grant: GRANT.grant };

/** What a task is told, by people and by the other services. */
export const task = decisionTarget('task', orchestratorLogic(), situations, {
  'command/task.submit': command('submit', { id: TASK, workflow: 'sample' }),
  'command/task.cancel': command('cancel', { id: TASK }),
  'command/task.pause': command('pause', { id: TASK }),
  'command/task.resume': command('resume', { id: TASK }),
  'command/task.retry': command('retry', { id: TASK, node: NODE }),
  'command/task.recover': command('recover', { task: TASK, ...node }),
  'fact/approval.resolved': resolved,
  'fact/effect.applied': reported('applied'),
  'fact/effect.failed_clean': reported('failed_clean'),
  'fact/effect.in_doubt': reported('in_doubt'),
  'fact/effect.refused': reported('refused', { order }),
  'fact/effect.cancelled': reported('cancelled'),
});
