import { describe, expect, test } from 'vitest';
import { commands } from '../catalog/commands.ts';
import { eventList } from '../catalog/event-list.ts';
import { isFromPeople, isSealed, senderOf, sentBy } from './senders.ts';
import { consumers } from './streams.ts';
import { AGGREGATES, filters, SERVICES, subjects } from './subjects.ts';

const matches = (filter: string, subject: string): boolean => {
  const [wanted, tokens] = [filter.split('.'), subject.split('.')];
  return wanted.every((token, i) => token === '>' || (token === '*' && tokens[i]) || token === tokens[i]);
};

const subjectOf = (service: (typeof SERVICES)[number], command: string): string =>
  ({
    orchestrator: subjects.taskCommand(command),
    approvals: subjects.approvalCommand(command),
    executor: subjects.effectCommand(command, 'default'),
    recovery: subjects.recoveryCommand(command),
  })[service];

const everyCommand = SERVICES.flatMap((service) =>
  Object.keys(commands[service]).map((command) => subjectOf(service, command)),
);

describe('who may send a message', () => {
  test('every command between services has exactly one sender, who may publish it', () => {
    for (const subject of everyCommand) {
      const allowed = SERVICES.filter((service) =>
        sentBy(service).some((filter) => matches(filter, subject)),
      );
      const sender = senderOf(subject);
      expect({ subject, allowed }).toEqual({ subject, allowed: sender === undefined ? [] : [sender] });
    }
  });

  test('only commands of people have no sender among the services', () => {
    const unsent = everyCommand.filter((subject) => senderOf(subject) === undefined);
    expect(unsent.map((subject) => subject.replace('hp.cmd.task.', ''))).toEqual([
      'pause',
      'resume',
      'retry',
      'skip',
      'done',
      'checkpoint',
      'record_review',
    ]);
  });

  test.each(SERVICES)('only the %s service sends events of its aggregate', (service) => {
    const subject = subjects.event(AGGREGATES[service], 'completed', 'a-1');
    expect(senderOf(subject)).toBe(service);
    expect(SERVICES.filter((each) => sentBy(each).some((filter) => matches(filter, subject)))).toEqual([
      service,
    ]);
  });

  test.each(SERVICES)('only replicas of the %s service hand decisions on to its owner', (service) => {
    const subject = subjects.own(service, 'decide');
    expect([senderOf(subject), isSealed(subject)]).toEqual([service, true]);
    expect(isSealed(subjects.ownAnswer(service, 'x'))).toBe(false);
  });

  test('only the orchestrator orders work and effects', () => {
    expect([
      senderOf('hp.work.abc'),
      senderOf('hp.cmd.effect.run.default'),
      senderOf('hp.cmd.effect.run.gpu'),
    ]).toEqual(['orchestrator', 'orchestrator', 'orchestrator']);
  });

  test.each([
    'hp.in.task.submit',
    'hp.evt',
    'hp.evt.other.x.y',
    'hp.cmd.task',
    'hp.cmd.effect.destroy.default',
    '',
    'x',
  ])('no service sends %j', (subject) => {
    expect(senderOf(subject)).toBeUndefined();
  });

  test('a subject of people is not one of a service', () => {
    expect(
      ['hp.in.task.submit', 'hp.cmd.task.submit', 'hp.cmd.effect.run.default'].map(isFromPeople),
    ).toEqual([true, false, false]);
    expect(SERVICES.flatMap(sentBy).filter((filter) => filter.startsWith('hp.in'))).toEqual([]);
  });
});

describe('which messages carry a seal', () => {
  test('every command between services and every order of work carries a seal', () => {
    expect(everyCommand.filter((subject) => !isSealed(subject))).toEqual([]);
    expect(isSealed('hp.work.abc')).toBe(true);
  });

  test('events carry a seal unless no service decides on them', () => {
    const of = (aggregate: (typeof AGGREGATES)[keyof typeof AGGREGATES], ...events: readonly string[]) =>
      events.filter((event) => isSealed(subjects.event(aggregate, event, 'x-1')));
    expect(of('task', 'submitted', 'changed', 'completed', 'failed')).toEqual([]);
    expect(of('approval', 'requested', 'resolved', 'voted', 'rule_added')).toEqual(['resolved']);
    expect(of('effect', 'started', 'applied', 'in_doubt', 'refused', 'of_a_newer_release')).toEqual([
      'applied',
      'in_doubt',
      'refused',
      'of_a_newer_release',
    ]);
    expect(of('recovery', 'circuit_opened', 'circuit_half_opened', 'circuit_closed')).toHaveLength(3);
  });

  test('every event that a consumer or a circuit reader takes carries a seal', () => {
    const read = [...consumers.map(({ filter }) => filter), ...filters.circuitEvents].filter((filter) =>
      filter.startsWith('hp.evt.'),
    );
    const taken = SERVICES.flatMap((service) =>
      Object.entries(eventList[service]).flatMap(([type, { isPublished }]) => {
        const subject = subjects.event(AGGREGATES[service], type, 'x-1');
        return isPublished && read.some((filter) => matches(filter, subject)) ? [subject] : [];
      }),
    );
    expect(taken.length).toBeGreaterThan(10);
    // Both readers of the events of effects acknowledge it unread.
    expect(taken.filter((subject) => !isSealed(subject))).toEqual(['hp.evt.effect.started.x-1']);
  });

  test('commands of people and live output carry no seal', () => {
    expect(['hp.in.task.submit', 'hp.log.t-1.build'].map(isSealed)).toEqual([false, false]);
  });
});
