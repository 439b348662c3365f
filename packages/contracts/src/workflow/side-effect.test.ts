import { expect, test } from 'vitest';
import { SideEffectKind } from './side-effect.ts';

test('an effect has one of six kinds', () => {
  expect(SideEffectKind.options).toEqual([
    'write_external',
    'deploy',
    'merge',
    'notify',
    'destructive_edit',
    'other',
  ]);
  expect(SideEffectKind.safeParse('explode').success).toBe(false);
});
