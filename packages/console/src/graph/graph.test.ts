import { expect, test } from 'vitest';
import { JOBS } from '../tasks/labels.ts';
import { STATE_MAX, stateText } from './graph.tsx';

test('every state fits the box of its step, at every attempt', () => {
  const texts = Object.values(JOBS).flatMap((word) => [1, 3, 20].map((attempt) => stateText(word, attempt)));
  expect(texts.filter((text) => text.length > STATE_MAX)).toEqual([]);
  expect(texts).toContain('✗ Stuck: needs a decision');
});

test('an attempt is shown where there is room', () => {
  expect(stateText(JOBS.running, 1)).toBe('▶ Running');
  expect(stateText(JOBS.running, 3)).toBe('▶ Running (attempt 3)');
});
