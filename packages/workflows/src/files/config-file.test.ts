import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DEFAULT_CONFIG } from '../config/config.ts';
import { readConfigFile } from './config-file.ts';
import { temporaryRepository } from '../../testing/repository.ts';

test('only the first existing configuration counts, else the defaults', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  const aliases = (): readonly (string | undefined)[] => {
    const { file, config } = readConfigFile(root);
    return [file, ...(config?.commands.keys() ?? [])];
  };
  expect(readConfigFile(root)).toEqual({ config: DEFAULT_CONFIG, problems: [] });
  repository.write('.vizier/config.json', '{"commands":{"c":"c@v1"},"unknown":1}');
  expect(aliases()).toEqual(['.vizier/config.json', 'c']);
  repository.write('.vizier/config.toml', 'unknown = 1\n[commands]\nb = "b@v1"\n');
  expect(aliases()).toEqual(['.vizier/config.toml', 'b']);
  repository.write('.holdpoint/config.toml', '[commands]\na = "a@v1"\n');
  expect(aliases()).toEqual(['.holdpoint/config.toml', 'a']);
});

test('an unreadable configuration is a problem and does not fall back to another', () => {
  using repository = temporaryRepository();
  const { root } = repository;
  repository.write('.vizier/config.toml', '');
  mkdirSync(join(root, '.holdpoint'));
  execFileSync('mkfifo', [join(root, '.holdpoint', 'config.toml')]);
  expect(readConfigFile(root)).toEqual({
    file: '.holdpoint/config.toml',
    problems: [expect.objectContaining({ code: 'WORKFLOW_NOT_A_FILE', file: '.holdpoint/config.toml' })],
  });
});
