import { isEndPhase } from '@holdpoint/contracts/task/status';
import type { TaskRunMessage } from '@holdpoint/orchestrator/program/program-task';
import { ReviewKind, type ReviewText, ReviewVerdict } from '@holdpoint/contracts/workflow/review';
import { commandIdOf, type NodeId, type TaskId } from '@holdpoint/contracts/values/ids';
import { findNode, nodeState, openQuestion } from '@holdpoint/orchestrator/task/model/state';
import { taskIn, type TaskChange } from '../event-states.ts';
import type { Principal } from '@holdpoint/approvals/approval/state';
import { named } from '@holdpoint/orchestrator/sender';
import type { Cluster } from '../services/cluster.ts';
import { PEOPLE } from '../workload/gates.ts';
import { asSender } from './identities.ts';
import type { Call } from './approvers.ts';
import { LATE_MS } from '../outside/target.ts';
import type { World } from '../world.ts';

const LOOKS_WITHIN_MS = 15_000;
const ASK_AGAIN_MS = 4_000;
const LOOKS_MAX = 24;
const RETRIES_MAX = 3;
const REWINDS_MAX = 2;
const BY_HAND = { review: 0.3, cancel: 0.03, pause: 0.06, node: 0.12, rewind: 0.25, rollback: 0.12 } as const;
const WITHOUT_TOKEN = 0.1;
const ON_A_NODE = ['skip', 'cancel', 'pause', 'pause', 'done'] as const;
const WORKFLOW_OF_ROLLBACKS = 'rollback';

type Kind = 'cancel' | 'pause' | 'resume' | 'skip' | 'retry' | 'done' | 'record_review';
type Said = { readonly node?: NodeId; readonly attempt?: number; readonly rewind?: boolean };

/** Operators who pause, resume, cancel, skip and restart tasks and nodes. */
export const startHands = ({ timeline, choices, books }: World, cluster: Cluster, call: Call) => {
  let commands = 0;
  /** A command keeps its id when it is repeated. */
  const tell = (task: TaskId, kind: Kind, said: Said | ReviewText = {}): void => {
    commands += 1;
    const commandId = commandIdOf(kind, `${task} ${String(commands)}`);
    const person = choices.pick(`who says ${commandId}`, [PEOPLE.ada, PEOPLE.linus]);
    const say = (by: Principal | undefined): void => {
      const sender = asSender(by, timeline.now());
      const payload = named({ id: task, by: person.name, ...said }, 'by', sender);
      const message = { kind, payload, task, commandId, sender } as TaskRunMessage;
      call(cluster.orchestrator, { kind: 'task', aggregate: task, message });
    };
    // Somebody who only knows the name tries it without a token.
    say(choices.happens(`without a token ${commandId}`, WITHOUT_TOKEN) ? undefined : person);
  };

  /** An operator who paused a task or node resumes it later. */
  const unpause = (id: TaskId, node?: NodeId, looks = 1): void => {
    const task = taskIn(books, id);
    const paused = node === undefined ? task?.pausedByHand : task && findNode(task, node)?.paused;
    if (paused === true) tell(id, 'resume', node === undefined ? {} : { node });
    if (looks < LOOKS_MAX) timeline.in(ASK_AGAIN_MS * looks, () => unpause(id, node, looks + 1));
  };

  const within = (what: string): number => choices.between(what, 0, LOOKS_WITHIN_MS);

  /** People review a task at any time, also after its end. */
  const review = (id: TaskId): void => {
    for (const kind of ReviewKind.options)
      if (choices.happens(`${kind} review of ${id}`, BY_HAND.review))
        timeline.in(within(`when to review ${kind} of ${id}`), () =>
          tell(id, 'record_review', {
            kind,
            verdict: choices.pick(`verdict on ${kind} of ${id}`, ReviewVerdict.options),
            summary: `${kind} of ${id}`,
          }),
        );
  };

  const onTask = (id: TaskId, workflow: string): void => {
    review(id);
    const cancels = workflow === WORKFLOW_OF_ROLLBACKS ? BY_HAND.rollback : BY_HAND.cancel;
    if (choices.happens(`cancel ${id}`, cancels))
      timeline.in(within(`when to cancel ${id}`), () => tell(id, 'cancel'));
    if (!choices.happens(`pause ${id}`, BY_HAND.pause)) return;
    const pausedAt = within(`when to pause ${id}`);
    timeline.in(pausedAt, () => tell(id, 'pause'));
    timeline.in(pausedAt + within(`when to resume ${id}`), () => unpause(id));
  };

  const onNode = (id: TaskId, nodes: readonly NodeId[]): void => {
    if (!choices.happens(`by hand on a node of ${id}`, BY_HAND.node)) return;
    const node = choices.pick(`which node of ${id}`, nodes);
    const kind = choices.pick(`what with ${id}/${node}`, ON_A_NODE);
    const at = within(`when with ${id}/${node}`);
    timeline.in(at, () => tell(id, kind, { node }));
    if (kind === 'pause') timeline.in(at + within(`when on with ${id}/${node}`), () => unpause(id, node));
  };

  /** Questions left to the approvers, once each, because these may not answer. */
  const left = new Set<string>();
  const retries = new Map<string, number>();
  /** Handles an escalated node: another attempt, or the end of the node or the task. */
  const settle = (id: TaskId, node: NodeId, attempt: number): void => {
    const task = taskIn(books, id);
    if (task === undefined || isEndPhase(task.phase)) return;
    const found = findNode(task, node);
    if (found?.status !== 'escalated' || found.attempt !== attempt) return;
    const place = `${id} ${node}`;
    // Most questions about an effect in doubt are left to their approvers.
    const approval = openQuestion(found);
    if (
      approval !== undefined &&
      !left.has(approval) &&
      choices.happens(`wait for the answer ${place}`, 0.7)
    ) {
      left.add(approval);
      // Some stuck jobs are left to their approvers.
      if (found.stuck !== undefined && choices.happens(`nobody looks ${place}`, 0.5)) return;
      return void timeline.in(LATE_MS * 4, () => settle(id, node, attempt));
    }
    const count = (retries.get(id) ?? 0) + 1;
    retries.set(id, count);
    if (count <= RETRIES_MAX && choices.happens(`retry ${place}`, 0.5)) tell(id, 'retry', { node, attempt });
    else if (count <= RETRIES_MAX && choices.happens(`send back ${place}`, 0.2))
      tell(id, 'retry', { node, attempt, rewind: true });
    else if (choices.happens(`leave out ${place}`, 0.3))
      tell(id, choices.pick(place, ['skip', 'cancel', 'done']), { node });
    else tell(id, 'cancel');
    timeline.in(ASK_AGAIN_MS * 3, () => settle(id, node, attempt));
  };

  const rewinds = new Map<string, number>();
  /** After a failure: an operator restarts the task or skips what failed. */
  const afterFailure = (id: TaskId): void => {
    const count = (rewinds.get(id) ?? 0) + 1;
    if (count > REWINDS_MAX || !choices.happens(`rewind ${id}`, BY_HAND.rewind)) return;
    rewinds.set(id, count);
    timeline.in(within(`when to rewind ${id}`), () => {
      const task = taskIn(books, id);
      const failed = task?.definition.nodes.find(({ id: node }) => nodeState(task, node).status === 'failed');
      if (failed === undefined || choices.happens(`rewind all of ${id}`, 0.3))
        return tell(id, 'retry', { rewind: true });
      if (choices.happens(`skip what failed of ${id}`, 0.3))
        return tell(id, choices.pick(`leave out of ${id}`, ['skip', 'done']), { node: failed.id });
      return tell(id, 'retry', { node: failed.id, rewind: true });
    });
  };

  return {
    tell,
    review,
    happened: ({ event }: TaskChange): void => {
      const { id } = event;
      if (event.type === 'submitted') {
        onTask(id, event.definition.id);
        onNode(
          id,
          event.definition.nodes.map((node) => node.id),
        );
      }
      if (event.type === 'failed') afterFailure(id);
      if (event.type !== 'node_escalated') return;
      const { node, attempt } = event;
      timeline.in(within(`settle ${id} ${node}`), () => settle(id, node, attempt));
    },
  };
};
