import { describe, expect, test } from 'vitest';
import { effect, id } from '../../testing/graphs.ts';
import { play } from '../../testing/play.ts';
import { nodeState } from './model/state.ts';

describe('an effect that its template describes as another', () => {
  const written = (change: Parameters<typeof effect>[2], args = { file: './notes.txt', line: 'x' }) =>
    nodeState(play([effect('write', { args }, change)]).task, id('write')).gate?.effect;

  test('the request has the kind and the target that follow from the arguments', () => {
    expect(written({ kind: 'notify', target: 'notify:team' })).toMatchObject({
      kind: 'write_external',
      target: 'file:notes.txt',
    });
  });

  test('the template may raise the kind', () => {
    expect(written({ kind: 'deploy' })).toMatchObject({ kind: 'deploy', target: 'file:notes.txt' });
  });
});
