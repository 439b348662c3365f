import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { generatedFiles } from './src/generate/generated.ts';

// From nothing, so that the schema of a message that is gone goes as well.
rmSync(join(import.meta.dirname, 'schemas'), { recursive: true, force: true });
for (const [path, content] of generatedFiles()) {
  const file = join(import.meta.dirname, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
