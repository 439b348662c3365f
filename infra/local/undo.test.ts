import { expect, test } from 'vitest';
import { createUndo } from './undo.ts';

test('the latest part ends first, each part ends once, and a failure stops no other part', async () => {
  const ended: string[] = [];
  const undo = createUndo();
  undo.add(async () => void ended.push('database'));
  undo.add(async () => {
    throw new Error('NATS does not stop');
  });
  undo.add(async () => void ended.push('services'));
  await expect(undo.run()).rejects.toMatchObject({ errors: [new Error('NATS does not stop')] });
  await undo.run();
  expect(ended).toEqual(['services', 'database']);
});
