import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const CORPUS = join(import.meta.dirname, 'corpus');

/** An input and the reason to keep it. */
const Kept = z.strictObject({ why: z.string().min(1), input: z.unknown() });
export type Kept = z.infer<typeof Kept> & { readonly file: string };

/** The corpus of a target, replayed in every run. */
export const corpusOf = (target: string): readonly Kept[] => {
  const folder = join(CORPUS, target);
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => ({ ...Kept.parse(JSON.parse(readFileSync(join(folder, file), 'utf8'))), file }));
};

/** Lists corpus folders, to find those without a target. */
export const corpusFolders = (): readonly string[] => readdirSync(CORPUS).toSorted();

/** The path and content of a new corpus file. */
export const fileFor = (
  target: string,
  why: string,
  input: unknown,
): { readonly path: string; readonly content: string } => {
  const content = `${JSON.stringify({ why, input }, undefined, 2)}\n`;
  const name = createHash('sha256').update(JSON.stringify(input)).digest('hex').slice(0, 12);
  return { path: `tests/fuzz/corpus/${target}/${name}.json`, content };
};
