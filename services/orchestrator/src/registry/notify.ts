import type { ArtifactState, Notification, NotifyTask, Job } from '@holdpoint/contracts/task/registry';
import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Outgoing } from '@holdpoint/runtime/decider';
import type { Registry } from './state.ts';

/** Limit for the artifacts in one notification, because the task records them. */
const ARTIFACTS_MAX_BYTES = 256 * 1024;

/**
 * Identifies a notification at a registry version; payloads need not be hashed. The message id also has the
 * time, so that the bus does not drop a repeated reply as a duplicate.
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

/** Splits artifacts into as few notifications as the limit allows, with their sizes. */
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
