import type { TaskEvent } from '@holdpoint/contracts/task/events';
import type { TaskChange } from '../event-states.ts';
import type { World } from '../world.ts';
import { nodeState } from '@holdpoint/orchestrator/task/model/state';
import { nodesOf } from './attempts.ts';

/** By answer: the events that may follow it. */
const FOLLOWS: Readonly<Record<string, (event: TaskEvent) => boolean>> = {
  retry: ({ type }) => type === 'node_retrying' || type === 'restarted',
  skip: ({ type }) => type === 'node_skipped',
  done: (event) => event.type === 'node_succeeded' && event.by !== undefined,
  cancel: (event) => event.type === 'node_ended' && event.outcome === 'cancelled',
};

/** The answer to a stuck job decides what follows. */
export const watchAnswers = ({ checker, books }: World) => {
  const said = new Map<string, string>();
  return ({ aggregate, before, event, after }: TaskChange): void => {
    if (before.phase === 'absent' || after.phase === 'absent') return;
    if (event.type === 'stuck_answered') {
      const approval = books.approvals.stateOf(event.approval);
      const decided = approval.status === 'closed' ? approval.decided : undefined;
      checker.expect(
        'the answer to a stuck job is what a person stated',
        decided?.outcome === 'answered' && decided.answer === event.answer && decided.by === event.by,
        aggregate,
        () => JSON.stringify({ event, decided }),
      );
      said.set(aggregate, `${event.node} ${event.answer}`);
      return;
    }
    if (event.type === 'node_retrying' && nodeState(before, event.node).status === 'escalated')
      checker.expect(
        'a retry by a person does not count as a loop',
        nodeState(after, event.node).loops === nodeState(before, event.node).loops,
        aggregate,
        () => JSON.stringify({ event, loops: nodeState(after, event.node).loops }),
      );
    const [node = '', answer = ''] = said.get(aggregate)?.split(' ') ?? [];
    if (answer === '' || (event.type !== 'restarted' && !nodesOf(event).includes(node))) return;
    said.delete(aggregate);
    checker.expect(
      'the answer to a stuck job is what a person stated',
      FOLLOWS[answer]?.(event) === true,
      aggregate,
      () => `${event.type} of ${node} follows ${answer}`,
    );
  };
};
