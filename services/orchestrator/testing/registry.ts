import type {
  ArtifactReport,
  RegistryRequest,
  Notification,
  NotifyTask,
} from '@holdpoint/contracts/task/registry';
import { type NodeId, repositoryIdOf, type TaskId } from '@holdpoint/contracts/values/ids';
import type { Lock } from '@holdpoint/contracts/workflow/workflow';
import type { Decision } from '@holdpoint/runtime/decider';
import type { RegistryMessage } from '../src/registry/decide.ts';
import { type Registry, emptyRegistry } from '../src/registry/state.ts';

export const NOW = 1_700_000_000_000;
export const MINUTE_MS = 60_000;
export const BOARD = repositoryIdOf('/srv/app');

export const taskId = (name: string): TaskId => name as TaskId;
export const nodeId = (name: string): NodeId => name as NodeId;

/** `task/node`, or `task/node/attempt`. */
export const job = (name: string) => {
  const [task = '', node = '', attempt = '1'] = name.split('/');
  return { task: taskId(task), node: nodeId(node), attempt: Number(attempt) };
};

/** `+key` is shared, `key` exclusive. */
export const locks = (...keys: readonly string[]): Lock[] =>
  keys.map((key) =>
    key.startsWith('+') ? { key: key.slice(1), mode: 'shared' } : { key, mode: 'exclusive' },
  );

const registryMessage = (request: RegistryRequest): RegistryMessage => ({
  kind: 'registry',
  id: BOARD,
  request,
});

export const acquire = (name: string, since: number, ...keys: readonly string[]): RegistryMessage =>
  registryMessage({ kind: 'acquire', ...job(name), locks: locks(...keys), since });
export const release = (name: string): RegistryMessage => registryMessage({ kind: 'release', ...job(name) });
export const report = (
  task: string,
  serial: number,
  ...artifacts: readonly ArtifactReport[]
): RegistryMessage =>
  registryMessage({ kind: 'report', task: taskId(task), serial, artifacts: [...artifacts] });
export const require = (name: string, ...labels: readonly string[]): RegistryMessage =>
  registryMessage({ kind: 'require', ...job(name), labels: [...labels] });
export const reminder: RegistryMessage = { kind: 'timer', name: 'held', data: null };

/** An artifact report of a node. */
export const artifact = (
  state: ArtifactReport['state'],
  label: string,
  more: { readonly node?: string; readonly payload?: ArtifactReport['payload'] } = {},
): ArtifactReport => ({
  label,
  node: nodeId(more.node ?? 'n'),
  state,
  ...(more.payload && { payload: more.payload }),
});

export const boardWith = (parts: Partial<Registry>): Registry => ({
  ...emptyRegistry(BOARD),
  version: 1,
  ...parts,
});

/** A message to a task, in the form that `thenSends` compares. */
export const notified = (task: string, notification: object) => ({
  subject: 'hp.cmd.task.notify',
  type: 'dev.holdpoint.task.notify.v1',
  data: { id: task, notification },
});
export const notifiedHeld = (name: string) =>
  notified(job(name).task, {
    kind: 'locks',
    ...job(name),
    repository: BOARD,
    acquired: true,
    waitingFor: [],
  });
export const notifiedToWait = (name: string, ...waitingFor: readonly string[]) =>
  notified(job(name).task, { kind: 'locks', ...job(name), repository: BOARD, acquired: false, waitingFor });

/** The notifications of a decision, without envelopes. */
export const informationOf = ({ send }: Pick<Decision<never>, 'send'>): readonly Notification[] =>
  send.map(({ data }) => (data as NotifyTask).notification);
