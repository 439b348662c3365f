import { type Check, takeNotes } from './check.ts';

const MIB = 1024 * 1024;
/** Less than the limits of the images. */
const RSS_MAX_BYTES = 640 * MIB;
const OPEN_FILES_MAX = 1_000;
/** Queue tables stay small at any load. */
const QUEUE_MAX_BYTES = 256 * MIB;

export const secrets: Check = {
  id: 'K12',
  promise: 'no log, event, message or dead letter contains a password, token or key of the deployment',
  ofRun: ({ searched, secrets: count }) => {
    const { expect, finding } = takeNotes();
    for (const { where, bytes, found } of searched)
      if (bytes > 0 && count > 0) expect(found.length === 0, () => `${where} holds ${found.join(', ')}`);
    return finding();
  },
};

export const bounds: Check = {
  id: 'K13',
  promise: 'memory, open files and queue tables stay within bounds',
  ofRun: ({ peaks, services }) => {
    const { expect, finding } = takeNotes();
    for (const { instance, rssBytes, openFiles } of peaks) {
      expect(rssBytes <= RSS_MAX_BYTES, () => `${instance} took ${String(Math.round(rssBytes / MIB))} MiB`);
      expect(openFiles <= OPEN_FILES_MAX, () => `${instance} had ${String(openFiles)} files open`);
    }
    for (const { service, queueBytes } of services)
      expect(
        queueBytes <= QUEUE_MAX_BYTES,
        () => `outbox and timers of ${service} take ${String(Math.round(queueBytes / MIB))} MiB`,
      );
    return finding();
  },
};

export const processes: Check = {
  id: 'K15',
  promise: 'no process exits on its own or leaves an error unhandled',
  ofRun: ({ ended, outcries, logLines }) => {
    const { expect, finding } = takeNotes();
    for (const { name, at, how, caused } of ended)
      expect(caused, () => `${name} ended by itself at ${at}, with ${how}`);
    if (logLines > 0) expect(outcries.length === 0, () => outcries.slice(0, 5).join(' | '));
    return finding();
  },
};
