import { ConfigError } from '@holdpoint/runtime/service/config';
import { describe, expect, test } from 'vitest';
import { parsePrincipals } from './principals-file.ts';

const hash = 'a'.repeat(64);
const textOf = (...principals: readonly object[]): string => JSON.stringify({ principals });

const problemOf = (text: string): string => {
  try {
    parsePrincipals(text);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error('it was taken');
};

test('the file is read with all credentials of a person', () => {
  const ada = {
    name: 'ada',
    groups: ['operators'],
    roles: ['lead'],
    tokenSha256: hash,
    discord: '42',
    oidc: 'x',
  };
  const eve = { name: 'Eve Müller', groups: [] };
  expect(parsePrincipals(textOf(ada, eve))).toEqual([ada, { name: 'eve müller', groups: [] }]);
});

describe('a duplicate of a unique field is refused with its position', () => {
  const own = { name: 'ada', tokenSha256: hash, discord: '42', oidc: 'subject-1' };

  test.each(Object.entries(own))('%s', (field, value) => {
    const first = { ...own, groups: [] };
    const second = { name: 'eve', groups: [], [field]: value };
    const problem = problemOf(textOf(first, { name: 'bob', groups: [] }, second));
    expect(problem).toContain('HOLDPOINT_PRINCIPALS_FILE');
    expect(problem).toContain(`principals[2].${field}`);
    expect(problem).toContain('principals[0]');
    expect(problem).not.toContain(value);
  });

  test.each(['Ada', ' ada', 'ADA '])('the spelling %j is the same person', (name) => {
    expect(problemOf(textOf({ name: 'ada', groups: [] }, { name, groups: [] }))).toContain(
      'principals[1].name',
    );
  });

  test('names that look the same are duplicates', () => {
    const composed = { name: 'Zo\u00e9', groups: [] };
    expect(problemOf(textOf(composed, { name: 'Zoe\u0301', groups: [] }))).toContain('principals[1].name');
  });
});

describe('an invalid entry is refused with its position and without its value', () => {
  test.each([
    ['a name with the OIDC prefix', { name: 'oidc:ada', groups: [] }, 'principals[0].name'],
    ['the OIDC prefix in capitals', { name: 'OIDC:ada', groups: [] }, 'principals[0].name'],
    ['a name with a line break', { name: 'ada\nlovelace', groups: [] }, 'principals[0].name'],
    ['a name with a letter of another script', { name: '\u0430da', groups: [] }, 'principals[0].name'],
    ['a name with an invisible character', { name: 'ada\u200b', groups: [] }, 'principals[0].name'],
    ['a group that looks like a person', { name: 'ada', groups: ['user:eve'] }, 'principals[0].groups[0]'],
    [
      'a role that looks like a group',
      { name: 'ada', groups: [], roles: ['group:x'] },
      'principals[0].roles[0]',
    ],
    [
      'a secret in place of its hash',
      { name: 'ada', groups: [], tokenSha256: 'hpt_x' },
      'principals[0].tokenSha256',
    ],
  ])('%s', (_, person, place) => {
    const problem = problemOf(textOf(person));
    expect(problem).toContain(place);
    for (const value of ['lovelace', 'user:eve', 'group:x', 'hpt_x']) expect(problem).not.toContain(value);
  });

  test.each(['', 'operator, second', '[]', '{"principals":[]}'])('%j', (text) => {
    expect(problemOf(text)).toContain('HOLDPOINT_PRINCIPALS_FILE');
  });
});
