import { expect, test } from 'vitest';
import { hrefOf, routeOf } from './route.ts';

test('a link leads to its page', () => {
  expect(routeOf(hrefOf('tasks', 't-1', 'a/b %'))).toEqual({ page: 'tasks', rest: ['t-1', 'a/b %'] });
  expect(routeOf(hrefOf('health'))).toEqual({ page: 'health', rest: [] });
});

test.each(['', '#', '#/', '#/nowhere/x', '#//'])('%j leads to the inbox', (hash) => {
  expect(routeOf(hash)).toEqual({ page: 'inbox', rest: [] });
});

test('a link that cannot be decoded is still a link', () => {
  expect(routeOf('#/tasks/%zz')).toEqual({ page: 'tasks', rest: ['%zz'] });
});
