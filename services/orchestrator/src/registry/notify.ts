import type { ArtifactState, Notification, NotifyTask, Job } from '@holdpoint/contracts/task/registry';
import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Outgoing } from '@holdpoint/runtime/decider';
import type { Registry } from './state.ts';

/** Of the artifactStates in one message: a task records what it is told, beside much else. */
const ARTIFACTS_MAX_BYTES = 256 * 1024;

/**
 * What a message says follows from the board as it is at this version, and from this; payloads need not be hashed. Asked
 * again, even about the same version, the answer has another time, or the server would take it for one that it had before.
 */
const keyOf = (notification: Notification): unknown =>
  notification.kind === 'artifacts'
    ? { ...notification, artifactStates: notification.artifactStates.map(({ label }) => label) }
    : notification;

export const notificationCommand = (
  { id, version }: Registry,
  task: Job['task'],
  notification: Notification,
  now: number,
): Outgoing => {
  const what = sha256Of(JSON.stringify([task, keyOf(notification)])).slice(0, 32);
  return {
    subject: subjects.taskCommand('notify'),
    id: `task.notify.${id}.${String(version)}.${String(now)}.${what}`,
    type: eventType('task', 'notify'),
    data: { id: task, notification } satisfies NotifyTask,
  };
};

/** Standings in as few messages as may carry them, and how large each is. */
export const chunks = (
  artifactStates: readonly ArtifactState[],
): readonly { readonly artifactStates: readonly ArtifactState[]; readonly bytes: number }[] => {
  const done: { artifactStates: ArtifactState[]; bytes: number }[] = [];
  for (const standing of artifactStates) {
    const bytes = Buffer.byteLength(JSON.stringify(standing));
    const last = done.at(-1);
    if (last !== undefined && last.bytes + bytes <= ARTIFACTS_MAX_BYTES) {
      last.artifactStates.push(standing);
      last.bytes += bytes;
    } else done.push({ artifactStates: [standing], bytes });
  }
  return done;
};
