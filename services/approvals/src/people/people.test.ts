import type { PeopleEvent } from '@holdpoint/contracts/approval/people';
import { PEOPLE_MAX } from '@holdpoint/contracts/approval/people';
import { PEOPLE_ID } from '@holdpoint/contracts/values/ids';
import { specFor } from '@holdpoint/runtime/testing/spec';
import { describe, expect, test } from 'vitest';
import { REQUESTED_AT } from '../../testing/requests.ts';
import { evolvePeople, peopleDecider, type PeopleMessage } from './people.ts';

const given = specFor(peopleDecider);
const around = { isInFile: false, administrators: ['operators'], hasOtherAdministrators: true };
const at = REQUESTED_AT;

const add = (name: string, groups: string[] = [], change: Partial<PeopleMessage> = {}): PeopleMessage =>
  ({ kind: 'add_person', person: { name, groups }, by: 'root', ...around, ...change }) as PeopleMessage;
const change = (name: string, groups: string[], more: Partial<PeopleMessage> = {}): PeopleMessage =>
  ({ kind: 'change_person', person: { name, groups }, by: 'root', ...around, ...more }) as PeopleMessage;
const remove = (name: string, more: Partial<PeopleMessage> = {}): PeopleMessage =>
  ({ kind: 'remove_person', name, by: 'root', ...around, ...more }) as PeopleMessage;

const added = (name: string, groups: string[] = []): PeopleEvent => ({
  type: 'person_added',
  id: PEOPLE_ID,
  name,
  groups,
  by: 'root',
  at,
});
const removed = (name: string): PeopleEvent => ({
  type: 'person_removed',
  id: PEOPLE_ID,
  name,
  by: 'root',
  at,
});

test('a person is added with groups, once each, and with the name of the administrator', () => {
  given()
    .when(add('ada', ['release', 'release']), at)
    .thenEmits(added('ada', ['release']));
});

test('a second person of a name is refused', () => {
  given(added('ada'))
    .when(add('ada', ['release']), at)
    .thenRefuses('APPROVALS_PERSON_CONFLICT');
});

test.each([add('ada'), change('ada', []), remove('ada')])(
  'a name of the principals file is changed in the file alone: $kind',
  (message) => {
    given(added('ada'))
      .when({ ...message, isInFile: true }, at)
      .thenRefuses('APPROVALS_PERSON_CONFLICT');
  },
);

test.each([change('eve', []), remove('eve')])('an unknown person is refused: $kind', (message) => {
  given(added('ada')).when(message, at).thenRefuses('APPROVALS_UNKNOWN_PERSON');
});

test('a change replaces the groups, and an equal change is no event', () => {
  const changed: PeopleEvent = { ...added('ada', ['ops']), type: 'person_changed' } as PeopleEvent;
  given(added('ada', ['release']))
    .when(change('ada', ['ops']), at)
    .thenEmits(changed);
  given(added('ada', ['ops']))
    .when(change('ada', ['ops']), at)
    .thenNothing();
});

test('a removed person is changed by nobody, removed twice without an event, and may be added again', () => {
  const history = [added('ada'), removed('ada')];
  given(...history)
    .when(change('ada', ['ops']), at)
    .thenRefuses('APPROVALS_UNKNOWN_PERSON');
  given(...history)
    .when(remove('ada'), at)
    .thenNothing();
  given(...history)
    .when(add('ada', ['ops']), at)
    .thenEmits(added('ada', ['ops']));
});

test('a person who is added again keeps the time of the removal, so that old tokens stay refused', () => {
  const events = [added('ada'), { ...removed('ada'), at: at + 5 }, { ...added('ada'), at: at + 9 }];
  const state = events.reduce(evolvePeople, undefined as ReturnType<typeof evolvePeople> | undefined);
  expect(state?.people).toMatchObject([{ name: 'ada', removedAt: at + 5 }]);
  expect(state?.people[0]).not.toHaveProperty('removedBy');
});

describe('an administrator is left', () => {
  const alone = { hasOtherAdministrators: false };

  test('a person does not remove themselves', () => {
    given(added('ada', ['operators']))
      .when(remove('ada', { by: 'ada' }), at)
      .thenRefuses('APPROVALS_PERSON_REFUSED');
  });

  test.each([remove('ada', alone), change('ada', ['release'], alone)])(
    'the last administrator is neither removed nor changed: $kind',
    (message) => {
      const ada = added('ada', ['operators']);
      given(ada, added('eve')).when(message, at).thenRefuses('APPROVALS_PERSON_REFUSED');
      given(ada, added('eve', ['operators']), removed('eve'))
        .when(message, at)
        .thenRefuses('APPROVALS_PERSON_REFUSED');
    },
  );

  test.each([remove('ada'), change('ada', ['release'])])(
    'one of two administrators may go: $kind',
    (message) => {
      for (const events of [
        [added('ada', ['operators']), added('eve', ['operators'])],
        [added('ada', ['operators'])],
      ]) {
        const hasOtherAdministrators = events.length === 1;
        const made = peopleDecider.decide(
          events.reduce(evolvePeople, undefined as ReturnType<typeof evolvePeople> | undefined),
          { ...message, hasOtherAdministrators },
          { now: at },
        );
        expect(made.events).toHaveLength(1);
      }
    },
  );
});

test('the number of people is limited, removed ones included', () => {
  const full = Array.from({ length: PEOPLE_MAX }, (_, i) => added(`p${String(i)}`));
  given(...full)
    .when(add('one-more'), at)
    .thenRefuses('APPROVALS_PERSON_REFUSED');
});
