import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commands } from '../catalog/commands.ts';
import { events } from '../catalog/events.ts';
import { consumers, streams } from './streams.ts';
import { AGGREGATES, filters, SERVICES, subjects } from './subjects.ts';

const builders: readonly (readonly [name: string, build: (token: string) => string])[] = [
  ['taskCommand', subjects.taskCommand],
  ['approvalCommand', subjects.approvalCommand],
  ['effectCommand by its pool', (pool) => subjects.effectCommand('run', pool)],
  ['recoveryCommand', subjects.recoveryCommand],
  ['fact by its event', (event) => subjects.event('task', event, 'a')],
  ['fact by its id', (id) => subjects.event('task', 'submitted', id)],
  ['filter of the facts about an id', (id) => filters.eventsAbout('task', id).replace('*', 'any')],
  ['log by its node', (node) => subjects.log('t-1', node)],
  ['answer of an owner', (id) => subjects.ownAnswer('approvals', id)],
  ['api', (endpoint) => subjects.api('orchestrator', endpoint)],
];

describe.each(builders)('the subject %s', (_, build) => {
  test.each(['', 'a.b', '*', '>', 'a b', 'a\n', '\u0000', 'a'.repeat(65), 'ü'])(
    'refuses the token %j',
    (token) => {
      expect(() => build(token)).toThrow(TypeError);
    },
  );

  test('a subject has a fixed number of tokens, or its builder throws', () => {
    const tokens = build('a').split('.').length;
    const refused = (text: string): boolean => {
      try {
        return build(text).split('.').length === tokens && !/[\s*>]/.test(build(text));
      } catch (error) {
        return error instanceof TypeError;
      }
    };
    fc.assert(fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z.*> ]{1,8}$/)), refused));
  });
});

test('aggregates, commands and events are tokens', () => {
  const commandNames = SERVICES.flatMap((service) => Object.keys(commands[service]));
  const names = SERVICES.flatMap((service) =>
    events[service].options.map((option) => [AGGREGATES[service], option.shape.type.value] as const),
  );
  expect(() => commandNames.map(subjects.taskCommand)).not.toThrow();
  expect(() => names.map(([aggregate, event]) => subjects.event(aggregate, event, 'a'))).not.toThrow();
});

test('every subject belongs to one stream, and every consumer to a declared stream', () => {
  const prefixes = streams.flatMap(({ subjects: stored }) =>
    stored.map((subject) => subject.replace(/>$/, '')),
  );
  expect(new Set(prefixes).size).toBe(prefixes.length);
  for (const { stream, filter, name } of consumers) {
    const declared = streams.find((declaration) => declaration.name === stream);
    expect(
      declared?.subjects.some((subject) => filter.startsWith(subject.replace(/>$/, ''))),
      name,
    ).toBe(true);
  }
});
