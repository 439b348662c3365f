import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles } from './src/generate/generated.ts';

// Starts from an empty folder, so that schemas of removed messages disappear.
rmSync(join(import.meta.dirname, 'schemas'), { recursive: true, force: true });
for (const [path, content] of generatedFiles()) {
  const file = join(import.meta.dirname, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
