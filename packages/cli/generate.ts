import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { referenceFiles } from './src/reference/files.ts';

for (const [path, content] of referenceFiles()) {
  const file = join(import.meta.dirname, '..', '..', path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
