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
])('%j as a selector', (text, identity) => {
  expect(parseSelector(text)).toEqual(identity);
});

test.each([
  ['template.draft.v2', 'template.draft@v2'],
  ['template.stage.draft.v10', 'template.stage.draft@v10'],
  ['draft.v2', undefined],
  ['template.draft@v2', undefined],
  ['flows/draft.x.v2', undefined],
  ['template.draft.version2', undefined],
])('%j without its dots', (text, meant) => {
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
])('%j as a path', (text, path) => {
  expect(pathOf(text)).toBe(path);
});

test('an alias is the same however it is written', () => {
  for (const name of ['code_review', 'Code Review', 'code--review', ' code -_review\t'])
    expect(aliasOf(name)).toBe('code_review');
});
