import {
  approvalIdOf,
  type ApprovalId,
  type EffectId,
  effectIdOf,
  type NodeId,
  TaskId,
} from '@holdpoint/contracts/values/ids';
import type { Verb } from '@holdpoint/contracts/workflow/approval-policy';
import { isEndPhase, type TaskPhase } from '@holdpoint/contracts/task/status';
import type { TaskView } from '@holdpoint/contracts/task/views';
import { type Client, Refusal } from '../bus/client.ts';
import { Hopeless, until } from '../until.ts';

/** The node of the sample workflow that has the effect. */
const APPEND = 'append' as NodeId;

/** A refusal is an answer, unless the service is unavailable. */
const unlessRefused = (error: unknown): never => {
  if (error instanceof Refusal && error.status !== 503) throw new Hopeless(error.message, { cause: error });
  throw error;
};

let count = 0;
/** An id that no other test uses. */
export const newTaskId = (): TaskId => {
  count += 1;
  return TaskId.parse(`t-${String(process.pid)}-${String(count)}-${crypto.randomUUID().slice(0, 8)}`);
};

export type SampleTask = {
  readonly id: TaskId;
  readonly line: string;
  readonly approval: ApprovalId;
  readonly effect: EffectId;
};

/** The ids that follow from the id of a sample task: its first approval and its effect. */
export const sampleTask = (id: TaskId, file = 'sample.txt'): SampleTask => ({
  id,
  line: `line of ${id}`,
  approval: approvalIdOf(id, APPEND, 1),
  effect: effectIdOf(id, APPEND, `append:${file}`),
});

/** Submits the sample workflow; repeats the submission until there is an answer, which is safe. */
export const submitSample = async (client: Client, file = 'sample.txt'): Promise<SampleTask> => {
  const task = sampleTask(newTaskId(), file);
  await until(`task ${task.id} is taken`, () =>
    client
      .ask('orchestrator', 'submit', {
        id: task.id,
        workflow: 'sample',
        goal: 'append a line',
        inputs: { file, line: task.line },
      })
      .catch(unlessRefused),
  );
  return task;
};

/** Waits until a task is in a phase. Throws at once if it ended in another. */
export const waitForPhase = (client: Client, id: TaskId, phase: TaskPhase): Promise<TaskView> =>
  until(`task ${id} is ${phase}`, async () => {
    const view = await client.ask('orchestrator', 'get', { id });
    if (view.phase === phase) return view;
    const found = `task ${id} is ${view.phase}, not ${phase}: ${JSON.stringify(view)}`;
    throw isEndPhase(view.phase) ? new Hopeless(found) : new Error(found);
  });

/** Waits until the approvals service has the request. */
export const waitForRequest = (client: Client, { approval }: SampleTask) =>
  until(`${approval} is requested`, () => client.ask('approvals', 'get', { id: approval }));

/** Decides; repeats the decision until there is an answer, which is safe. */
export const decide = async (
  client: Client,
  task: SampleTask,
  decision: Verb = 'approve',
  as: string = client.token,
): Promise<void> => {
  await waitForRequest(client, task);
  await until(`${task.approval} is decided`, () =>
    client.ask('approvals', 'decide', { id: task.approval, decision }, as).catch(unlessRefused),
  );
};

export const approve = (client: Client, task: SampleTask, as?: string): Promise<void> =>
  decide(client, task, 'approve', as);

/** Approves a task and waits for its end. */
export const approveAndComplete = async (
  client: Client,
  task: SampleTask,
  as?: string,
): Promise<TaskView> => {
  await approve(client, task, as);
  return waitForPhase(client, task.id, 'completed');
};
