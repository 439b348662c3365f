import { expect, test } from 'vitest';
import { aliasOf, parseSelector, pathOf, undotted } from './selector.ts';

test.each([
  ['template.stage.draft@v2', { id: 'template.stage.draft', version: 'v2' }],
  ['a@1', { id: 'a', version: '1' }],
  ['a@', undefined],
  ['@v1', undefined],
  ['a@b@c', undefined],
  ['a b@v1', undefined],
  [`a@${'v'.repeat(65)}`, undefined],
])('the selector %j is parsed', (text, identity) => {
  expect(parseSelector(text)).toEqual(identity);
});

test.each([
  ['template.draft.v2', 'template.draft@v2'],
  ['template.stage.draft.v10', 'template.stage.draft@v10'],
  ['draft.v2', undefined],
  ['template.draft@v2', undefined],
  ['flows/draft.x.v2', undefined],
  ['template.draft.version2', undefined],
])('the dotted selector %j gets a correction', (text, meant) => {
  expect(undotted(text)).toBe(meant);
});

test.each([
  ['file:any', 'any'],
  ['file:', ''],
  ['./any', './any'],
  ['.hidden', '.hidden'],
  ['/any', '/any'],
  ['a/b', 'a/b'],
  ['a\\b', 'a\\b'],
  ['a.toml', 'a.toml'],
  ['a.json', 'a.json'],
  ['a.toml@v1', undefined],
  ['draft', undefined],
])('the path form %j is recognised', (text, path) => {
  expect(pathOf(text)).toBe(path);
});

test('spellings of an alias are equal', () => {
  for (const name of ['code_review', 'Code Review', 'code--review', ' code -_review\t'])
    expect(aliasOf(name)).toBe('code_review');
});
