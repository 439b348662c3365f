import { artifactLabel, scopeOf } from '@holdpoint/contracts/workflow/artifact';
import type { ArtifactReport } from '@holdpoint/contracts/task/registry';
import type { NodeId } from '@holdpoint/contracts/values/ids';
import { canonicalJson } from '@holdpoint/contracts/values/json';
import { Outcome } from '@holdpoint/contracts/workflow/workflow';
import { hasEnded, nodeDefinition, nodeState, outcomeOf, type Task } from '../model/state.ts';
import { isCommit, workflowIndex } from '../model/workflow-index.ts';

/** A larger payload stays in its run. Other tasks learn only that the artifact exists. */
const PAYLOAD_MAX_BYTES = 64 * 1024;
const PAYLOADS_MAX_BYTES = 512 * 1024;

type ByteBudget = { bytes: number };

const payloadOf = (task: Task, node: ArtifactReport['node'], label: string, room: ByteBudget) => {
  const payload = nodeState(task, node).payloads?.[label];
  if (payload === undefined) return {};
  const bytes = Buffer.byteLength(canonicalJson(payload));
  if (bytes > PAYLOAD_MAX_BYTES || bytes > room.bytes) return {};
  room.bytes -= bytes;
  return { payload };
};

/**
 * The open node that makes or commits the artifact after this one. Other tasks see a file only in a commit, so an
 * artifact of the repository counts as made when the next commit has ended.
 */
const uncommittedBy = (task: Task, node: NodeId, label: string): NodeId | undefined => {
  const { giversAfter, producers } = workflowIndex(task.definition);
  return giversAfter(node).find(
    (id) =>
      !hasEnded(nodeState(task, id)) &&
      (isCommit(nodeDefinition(task, id)) || producers.get(label)?.includes(id) === true),
  );
};

/** The state of every artifact that other tasks may need. */
export const artifactReport = (task: Task): readonly ArtifactReport[] => {
  const room = { bytes: PAYLOADS_MAX_BYTES };
  return [...workflowIndex(task.definition).givers].flatMap((node) => {
    const state = nodeState(task, node);
    const { produces = {} } = nodeDefinition(task, node);
    const ended = hasEnded(state);
    return Outcome.options.flatMap((outcome) =>
      (produces[outcome] ?? []).flatMap((artifact): readonly ArtifactReport[] => {
        if (scopeOf(artifact) === 'run') return [];
        const label = artifactLabel(artifact);
        if (!ended) return [{ label, node, state: 'pending' }];
        const rest = scopeOf(artifact) === 'repository' ? uncommittedBy(task, node, label) : undefined;
        if (rest !== undefined) return [{ label, node: rest, state: 'pending' }];
        return outcomeOf(state) === outcome
          ? [{ label, node, state: 'available', ...payloadOf(task, node, label, room) }]
          : [{ label, node, state: 'failed' }];
      }),
    );
  });
};
