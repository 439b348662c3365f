import type { ArtifactStanding, Information, InformTask, Job } from '@holdpoint/contracts/task/registry';
import { eventType } from '@holdpoint/contracts/bus/cloudevents';
import { sha256Of } from '@holdpoint/contracts/values/json';
import { subjects } from '@holdpoint/contracts/bus/subjects';
import type { Outgoing } from '@holdpoint/runtime/decider';
import type { Board } from './state.ts';

/** Of the standings in one message: a task records what it is told, beside much else. */
const STANDINGS_MAX_BYTES = 256 * 1024;

/**
 * What a message says follows from the board as it is at this version, and from this; payloads need not be hashed. Asked
 * again, even about the same version, the answer has another time, or the server would take it for one that it had before.
 */
const gist = (information: Information): unknown =>
  information.about === 'artifacts'
    ? { ...information, standings: information.standings.map(({ label }) => label) }
    : information;

export const inform = (
  { id, version }: Board,
  task: Job['task'],
  information: Information,
  now: number,
): Outgoing => {
  const what = sha256Of(JSON.stringify([task, gist(information)])).slice(0, 32);
  return {
    subject: subjects.taskCommand('notify'),
    id: `task.notify.${id}.${String(version)}.${String(now)}.${what}`,
    type: eventType('task', 'notify'),
    data: { id: task, information } satisfies InformTask,
  };
};

/** Standings in as few messages as may carry them, and how large each is. */
export const portions = (
  standings: readonly ArtifactStanding[],
): readonly { readonly standings: readonly ArtifactStanding[]; readonly bytes: number }[] => {
  const done: { standings: ArtifactStanding[]; bytes: number }[] = [];
  for (const standing of standings) {
    const bytes = Buffer.byteLength(JSON.stringify(standing));
    const last = done.at(-1);
    if (last !== undefined && last.bytes + bytes <= STANDINGS_MAX_BYTES) {
      last.standings.push(standing);
      last.bytes += bytes;
    } else done.push({ standings: [standing], bytes });
  }
  return done;
};
