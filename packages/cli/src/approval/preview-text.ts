import type { CanonicalEffect } from '@holdpoint/contracts/effect/canonical-effect';
import { knownArgs } from '@holdpoint/contracts/effect/capabilities';
import { type DiffLine, filesOfPatch } from '@holdpoint/contracts/effect/patch';
import { z } from 'zod';
import { printableLines } from '../output/printable.ts';

const SHA_SHOWN = 12;

const Changes = z.object({
  commit: z.string().default(''),
  message: z.string().default(''),
  commits: z.array(z.object({ sha: z.string(), subject: z.string() })).default([]),
  diffstat: z.string().default(''),
  patch: z.string().default(''),
});

const indentedBy2 = (line: string): string => `  ${line}`;

const commitLine = (sha: string, subject: string): readonly string[] =>
  printableLines(`${sha.slice(0, SHA_SHOWN)} ${subject}`);

/** Modes and renames stay: an approver must see them. */
const isInHeading = ({ kind, text }: DiffLine): boolean =>
  kind === 'file' && /^(diff |index |--- |\+\+\+ )/.test(text);

/** One heading for each file, then its hunks. */
const patchLines = (patch: string): readonly string[] => {
  const { files, note = '' } = filesOfPatch(patch);
  if (files.length === 0) return printableLines(patch.trimEnd());
  return [
    ...files.flatMap(({ name, added, removed, lines }) => [
      ...printableLines(`${name} (+${String(added)} -${String(removed)})`),
      ...lines
        .filter((line) => !isInHeading(line))
        .flatMap(({ text }) => printableLines(text).map(indentedBy2)),
    ]),
    ...printableLines(note),
  ];
};

/** The preview in git's format, also of an effect that is undone; the arguments contain it too. */
export const previewText = ({ uses, args }: Pick<CanonicalEffect, 'uses' | 'args'>): readonly string[] => {
  const known = knownArgs(uses, args);
  const preview = Changes.safeParse(known['preview']);
  if (!preview.success) return [];
  const { commit, message, commits, diffstat, patch } = preview.data;
  const reverted =
    known === args || commit === '' ? [] : ['reverts', ...commitLine(commit, message).map(indentedBy2)];
  const lines = [
    ...commits.flatMap(({ sha, subject }) => commitLine(sha, subject)),
    ...printableLines(diffstat).map((line) => line.trim()),
    ...patchLines(patch),
  ].filter((line) => line !== '');
  return [...reverted, ...(lines.length === 0 ? [] : ['changes', ...lines.map(indentedBy2)])];
};
