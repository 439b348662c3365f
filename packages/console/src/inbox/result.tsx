import type { ApprovalDetail } from '@holdpoint/contracts/approval/queries';
import type { HistoryEntry } from '@holdpoint/contracts/task/queries';
import type { NodeView } from '@holdpoint/contracts/task/views';
import { useEffect } from 'preact/hooks';
import { Badge, Facts, Section, When } from '../parts/bits.tsx';
import { Long } from '../parts/safe.tsx';
import { useLoad } from '../parts/use-load.ts';
import { mayDo, useSession } from '../session/context.ts';
import { JOBS, type Word, wordFor } from '../tasks/labels.ts';
import { hrefOf } from '../text/route.ts';

const LOOK_EVERY_MS = 1_500;
const HISTORY_MAX = 500;

const ENDED: ReadonlySet<string> = new Set([
  'succeeded',
  'skipped',
  'unreached',
  'failed',
  'cancelled',
  'blocked_by_dependency',
  'blocked_by_approval',
  'escalated',
]);
const ENDS: ReadonlySet<string> = new Set(['node_succeeded', 'node_ended', 'node_blocked', 'node_failed']);

/** The state of a step as the end of a decision. */
export const isSettled = ({ job }: Pick<NodeView, 'job'>): boolean => ENDED.has(job);

/** When the step ended, by its latest end in the history. */
export const endedAt = (events: readonly HistoryEntry[], node: string): number | undefined =>
  events.findLast(({ type, data }) => ENDS.has(type) && data['node'] === node)?.at;

const RUNNING: Word = ['Approved. Running now …', 'busy'];

/** The result of an approval. The page follows the step to its end. */
export const Result = ({ approval }: { readonly approval: ApprovalDetail }) => {
  const { caller, me } = useSession();
  const { task, node } = approval;
  const isFollowed =
    mayDo(me, 'tasks:read') && (approval.status === 'approved' || approval.status === 'answered');
  const { value, reload } = useLoad(
    async (signal) => {
      if (!isFollowed) return undefined;
      const view = await caller.ask('orchestrator', 'get', { id: task }, { signal });
      const step = view.nodes.find(({ id }) => id === node);
      if (step === undefined || !isSettled(step)) return { view, step, at: undefined };
      const { events } = await caller.ask(
        'orchestrator',
        'history',
        { id: task, limit: HISTORY_MAX },
        { signal },
      );
      return { view, step, at: endedAt(events, node) };
    },
    [task, node, isFollowed],
  );
  const isOpen = isFollowed && value?.step !== undefined && !isSettled(value.step);
  useEffect(() => {
    if (!isOpen) return;
    const timer = setInterval(() => {
      if (document.visibilityState === 'visible') reload();
    }, LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [isOpen, reload]);
  if (!isFollowed || value?.step === undefined) return null;
  const { step, view, at } = value;
  const isRunning = !isSettled(step) && approval.status === 'approved' && step.approval === approval.id;
  return (
    <Section title="Result">
      <p role="status">
        <Badge word={isRunning ? RUNNING : wordFor(JOBS, step.job)} /> {at !== undefined && <When at={at} />}
      </p>
      <Facts
        rows={[
          ['Result', step.detail && <Long text={step.detail} block={false} characters={800} />],
          ['Error', step.error && <Long text={step.error.message} block={false} characters={800} />],
          ['Why', step.reason && <Long text={step.reason} block={false} characters={800} />],
          ['Task', <a href={hrefOf('tasks', view.id)}>{view.id}</a>],
        ]}
      />
      {step.outputs !== undefined && Object.keys(step.outputs).length > 0 && (
        <Long text={JSON.stringify(step.outputs, undefined, 2)} lines={12} />
      )}
    </Section>
  );
};
