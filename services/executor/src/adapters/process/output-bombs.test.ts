import { describe, expect, test } from 'vitest';
import { survive } from '../../../testing/output-bomb.ts';

/** Far above the usual time: this test is about memory. */
const PATIENCE_MS = 180_000;
const MEMORY_MAX_MIB = 200;
const LINE_MAX = 16_384;

describe('memory of an executor', () => {
  test.each([
    ['256 MB of short lines', 'yes | head -c 256M'],
    ['200 MB without a line end', 'head -c 200M /dev/zero | tr "\\\\0" x'],
    ['what is no text', 'head -c 50M /dev/urandom'],
  ])(
    'an executor keeps its memory despite %s',
    async (_, script) => {
      const { exitCode, truncated, kept, longest, peakMib } = await survive(script);
      expect({ exitCode, truncated }).toEqual({ exitCode: 0, truncated: true });
      expect(kept).toBeLessThan(132_000);
      expect(longest).toBeLessThanOrEqual(LINE_MAX);
      expect(peakMib).toBeLessThan(MEMORY_MAX_MIB);
    },
    PATIENCE_MS,
  );
});
