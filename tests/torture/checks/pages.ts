import { RESET } from '../pages/feed.ts';
import { type Check, takeNotes } from './check.ts';
import { replayTask, together } from './replay.ts';

export const pages: Check = {
  id: 'K31',
  promise: 'a page receives every event of a task in order, over any number of connections',
  pages: true,
  ofTask: ({ id, task, feeds }) => {
    const { expect, finding } = takeNotes(id);
    for (const { events, connections } of feeds) {
      let version = 0;
      for (const each of events) {
        if (each.type === RESET) {
          version = each.version;
          continue;
        }
        const [before, stored] = [version, task?.events[each.version - 1]];
        version = each.version;
        expect(
          each.version === before + 1,
          () => `version ${String(each.version)} follows ${String(before)}`,
        );
        expect(
          stored?.type === each.type,
          () =>
            `version ${String(each.version)} is ${each.type} on the page and ${String(stored?.type)} in the store`,
        );
      }
      expect(
        version === (task?.events.length ?? 0),
        () =>
          `${String(connections)} connections brought ${String(version)} of ${String(task?.events.length)} events`,
      );
    }
    return finding();
  },
};

export const agents: Check = {
  id: 'K32',
  promise: 'no agent decides a request of its owner or gets an answer that says so',
  pages: true,
  ofTask: (evidence) => {
    const { id, meant, approvals, operations } = evidence;
    const { expect, finding } = takeNotes(id);
    const shared = replayTask('K32', evidence);
    if (meant.agent === undefined) return together(shared, finding());
    for (const { op, actor, type, value } of operations)
      if (actor === 'agent' && op === 'approvals.decide' && type !== 'invoke')
        expect(type !== 'ok', () => `the agent got ${JSON.stringify(value)}`);
    for (const { events } of approvals)
      expect(
        events[0]?.type !== 'requested' || events[0].data['agent'] === meant.agent,
        () => `the request does not say that it is ${String(meant.agent)}'s`,
      );
    return together(shared, finding());
  },
};

export const deadLetters: Check = {
  id: 'K33',
  promise: 'a dead letter is resolved once, as one of its operators requested',
  pages: true,
  ofRun: ({ settledLetters }) => {
    const { expect, finding } = takeNotes();
    for (const { key, answers, requests, stated } of settledLetters) {
      expect(
        stated.length === 1,
        () => `dead letter ${key} has ${String(stated.length)} resolutions: ${stated.join(', ')}`,
      );
      for (const each of [...answers, ...stated])
        expect(requests.includes(each), () => `dead letter ${key}: no operator requested ${each}`);
    }
    return finding();
  },
};
