import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readRecoveryFile, RECOVERY_FILE } from './recovery-file.ts';
import { temporaryRepository } from '../../testing/repository.ts';

test('a repository without a recovery file has no rules', () => {
  using repository = temporaryRepository();
  expect(readRecoveryFile(repository.root)).toEqual({ problems: [] });
  repository.write(RECOVERY_FILE, '[thresholds]\nUNKNOWN = 4\n');
  expect(readRecoveryFile(repository.root)).toEqual({ rules: { thresholds: { UNKNOWN: 4 } }, problems: [] });
});

test('an unreadable recovery file is a problem', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  mkdirSync(join(root, '.holdpoint'));
  execFileSync('mkfifo', [join(root, RECOVERY_FILE)]);
  expect(readRecoveryFile(root)).toEqual({
    problems: [expect.objectContaining({ code: 'WORKFLOW_NOT_A_FILE', file: RECOVERY_FILE })],
  });
});
