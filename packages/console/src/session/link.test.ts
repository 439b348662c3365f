import { expect, test } from 'vitest';
import { linkCodeIn } from './link.ts';

const CODE = `hpc_${'a'.repeat(43)}`;

test('the code of a sign-in link is found in its fragment alone', () => {
  expect(linkCodeIn(`#/sign-in/${CODE}`)).toBe(CODE);
  for (const other of ['', '#/inbox', '#/sign-in/', `#/sign-in/${CODE}x`, `#/sign-in/hpt_${'a'.repeat(43)}`])
    expect(linkCodeIn(other)).toBeUndefined();
});
