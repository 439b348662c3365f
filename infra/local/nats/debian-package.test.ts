import { expect, test } from 'vitest';
import { newerSource } from './debian-package.ts';

const none = () => false;

test('the newer suite comes from the mirror of this machine, signed by the keys of the distribution', () => {
  const targets = 'Nodesource https://deb.nodesource.com/node_20.x\nDebian http://mirror.example/debian/\n';
  expect(newerSource(targets, none)).toBe('deb http://mirror.example/debian/ testing main\n');
  expect(newerSource(targets, (path) => path.endsWith('.pgp'))).toBe(
    'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.pgp] http://mirror.example/debian/ testing main\n',
  );
  expect(newerSource('Ubuntu http://archive.ubuntu.com/ubuntu/\n', none)).toBe(
    'deb http://archive.ubuntu.com/ubuntu/ devel universe\n',
  );
});

test.each([
  ['another distribution', 'Raspbian http://raspbian.example/raspbian/\n'],
  ['no list of packages', ''],
  ['the archive of security updates alone', 'Debian http://deb.debian.org/debian-security/\n'],
  ['a medium', 'Debian cdrom:[Debian]/\n'],
])('%s has no newer suite', (_what, targets) => {
  expect(newerSource(targets, none)).toBeUndefined();
});
