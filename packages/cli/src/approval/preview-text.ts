import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { z } from 'zod';
import { printableLines } from '../output/printable.ts';

const SHA_SHOWN = 12;

const Changes = z.object({
  commits: z.array(z.object({ sha: z.string(), subject: z.string() })).default([]),
  diffstat: z.string().default(''),
  patch: z.string().default(''),
});

/** The preview in git's format; the arguments contain it too. */
export const previewText = ({ args }: Pick<CanonicalEffect, 'args'>): readonly string[] => {
  const preview = Changes.safeParse(args['preview']);
  if (!preview.success) return [];
  const { commits, diffstat, patch } = preview.data;
  const lines = [
    ...commits.flatMap(({ sha, subject }) => printableLines(`${sha.slice(0, SHA_SHOWN)} ${subject}`)),
    ...printableLines(diffstat).map((line) => line.trim()),
    ...printableLines(patch.trimEnd()),
  ].filter((line) => line !== '');
  return lines.length === 0 ? [] : ['changes', ...lines.map((line) => `  ${line}`)];
};
