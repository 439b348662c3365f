import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normalName } from '../values/person.ts';
import { Audience, AudienceMember, isAmong, type Member, namesOf } from './audience.ts';

const ada: Member = { name: 'ada', groups: ['operators', 'on call'], roles: ['release-manager'] };

describe('a member of an audience', () => {
  test.each([
    'operators',
    'user:ada',
    'group:operators',
    'role:release-manager',
    'group:CN=ops: night',
    'ä',
    'a'.repeat(200),
  ])('is %j', (text) => {
    expect(AudienceMember.parse(text)).toBe(text);
  });

  test('is kept in the normal form of its name', () => {
    expect(AudienceMember.parse('user:Ada Lovelace ')).toBe('user:ada lovelace');
    expect(AudienceMember.parse('group:On Call')).toBe('group:On Call');
    expect(isAmong(['user:ADA'], ada)).toBe(true);
  });

  test.each([
    '',
    ' ',
    ' ada',
    ':ada',
    'user:',
    'user: ada',
    'user::ada',
    'usr:ada',
    'a,b',
    'a\nb',
    'a\rb',
    'a'.repeat(201),
  ])('is not %j', (text) => {
    expect(AudienceMember.safeParse(text).success).toBe(false);
  });
});

test('an audience has a limited number of members, at least one', () => {
  expect(Audience.safeParse([]).success).toBe(false);
  expect(Audience.safeParse(Array(50).fill('operators')).success).toBe(true);
  expect(Audience.safeParse(Array(51).fill('operators')).success).toBe(false);
});

describe('a person is among', () => {
  test.each([
    ['himself', ['user:ada'], true],
    ['a group by its bare name', ['operators'], true],
    ['a group', ['group:on call'], true],
    ['a role', ['role:release-manager'], true],
    ['any of several', ['user:grace', 'role:nobody', 'operators'], true],
    ['nobody', [], false],
    ['others', ['user:grace'], false],
    ['a group that is called like him', ['group:ada'], false],
    ['his bare name, which is a group', ['ada'], false],
    ['a role that is called like his group', ['role:operators'], false],
    ['the bare name of his role, which is a group', ['release-manager'], false],
    ['a part of the name of his group', ['operator'], false],
    ['his group in other letters', ['Operators'], false],
  ] as const)('%s: %j is %s', (_, audience, expected) => {
    expect(isAmong(audience, ada)).toBe(expected);
  });

  test('a group named like a person does not match the person', () => {
    for (const named of ['user:ada', 'role:release-manager', 'group:operators'] as const)
      expect(isAmong([named], { name: 'mallory', groups: [named] })).toBe(false);
  });

  test('a group of any name matches by its full name', () => {
    fc.assert(
      fc.property(fc.string(), (group) => {
        expect(isAmong([`group:${group}`], { name: 'x', groups: [group] })).toBe(true);
      }),
    );
  });

  test('only the person matches their name, not groups or roles of that name', () => {
    fc.assert(
      fc.property(fc.string(), fc.array(fc.string()), fc.array(fc.string()), (name, groups, roles) => {
        const users = namesOf({
          name,
          groups: [...groups, 'user:ada'],
          roles: [...roles, 'user:ada'],
        }).filter((each) => each.startsWith('user:'));
        expect(users).toEqual([`user:${normalName(name)}`]);
      }),
    );
  });
});
