import type { NodeView } from '@holdpoint/contracts/task/views';

type Wait = NonNullable<NodeView['wait']>;

/** The reason why a job waits (default: its status). */
export const waitOf = ({ wait, job, approval, locks }: NodeView): Wait | undefined => {
  if (wait !== undefined) return wait;
  if (job === 'waiting_on_approval') return { kind: 'approval', detail: approval ?? 'operator' };
  if (job === 'waiting_on_locks') return { kind: 'locks', detail: (locks ?? []).join(', ') };
  return undefined;
};

export const waitKinds = (node: NodeView): readonly Wait['kind'][] => {
  const wait = waitOf(node);
  return wait === undefined ? [] : [wait.kind];
};
