import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { VERSION } from '@holdpoint/contracts/values/version';
import { expect, test } from 'vitest';
import { root } from '../local/folders.ts';
import { releaseNotes } from './notes.ts';

const CHANGELOG = `# Changelog

Words.

## 0.2.0

### Added

- A thing.

## 0.10.0

## 0.1.0

- The first.
`;

test('the notes of a release are its section of the changelog', () => {
  expect(releaseNotes(CHANGELOG, '0.2.0')).toBe('### Added\n\n- A thing.\n');
  expect(releaseNotes(CHANGELOG, '0.1.0')).toBe('- The first.\n');
});

test.each(['0.3.0', '0.10.0', '2.0'])('a release without notes is refused: %s', (version) => {
  expect(() => releaseNotes(CHANGELOG, version)).toThrow(`no text under "## ${version}"`);
});

test('the changelog describes the version of this tree', () => {
  expect(releaseNotes(readFileSync(join(root, 'CHANGELOG.md'), 'utf8'), VERSION)).toContain('### Added');
});
