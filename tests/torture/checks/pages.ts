import { RESET } from '../pages/feed.ts';
import { type Check, takeNotes } from './check.ts';
import { replayTask, together } from './replay.ts';

export const pages: Check = {
  id: 'K31',
  promise: 'a page receives every event of a task in order, over any number of connections',
  pages: true,
  ofTask: ({ id, task, feeds }) => {
    const { expect, finding } = takeNotes(id);
    for (const { events: told, connections } of feeds) {
      let version = 0;
      for (const each of told) {
        if (each.type === RESET) {
          version = each.version;
          continue;
        }
        const [before, event] = [version, task?.events[each.version - 1]];
        version = each.version;
        expect(
          each.version === before + 1,
          () => `version ${String(each.version)} was told after ${String(before)}`,
        );
        expect(
          event?.type === each.type,
          () => `${each.type} was told as version ${String(each.version)}; stored is ${String(event?.type)}`,
        );
      }
      expect(
        version === (task?.events.length ?? 0),
        () =>
          `in ${String(connections)} connections ${String(version)} of ${String(task?.events.length)} were told`,
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
        expect(type !== 'ok', () => `the agent was told ${JSON.stringify(value)}`);
    for (const { events } of approvals)
      expect(
        events[0]?.type !== 'requested' || events[0].data['agent'] === meant.agent,
        () => `the request does not say that it is ${String(meant.agent)}'s`,
      );
    return together(shared, finding());
  },
};

export const letters: Check = {
  id: 'K33',
  promise: 'a dead letter is resolved once, as one of its operators requested',
  pages: true,
  ofRun: ({ settledLetters }) => {
    const { expect, finding } = takeNotes();
    for (const { key, answers: told, requests: asked, stated } of settledLetters) {
      expect(
        stated.length === 1,
        () => `letter ${key} is settled ${String(stated.length)} times: ${stated.join(', ')}`,
      );
      for (const each of [...told, ...stated])
        expect(asked.includes(each), () => `letter ${key}: ${each}, and nobody has asked for that`);
    }
    return finding();
  },
};
