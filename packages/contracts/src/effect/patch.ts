/** Kind of a diff line. */
export type DiffLine = {
  readonly kind: 'file' | 'hunk' | 'added' | 'removed' | 'same';
  readonly text: string;
};

const kindOf = (line: string): DiffLine['kind'] => {
  if (/^(diff |index |--- |\+\+\+ |new file|deleted file|rename |similarity )/.test(line)) return 'file';
  if (line.startsWith('@@')) return 'hunk';
  if (line.startsWith('+')) return 'added';
  return line.startsWith('-') ? 'removed' : 'same';
};

/** The lines of a unified diff. Inside a hunk, a removed `-- x` is a removed line, not a file name. */
export const diffLines = (diff: string): readonly DiffLine[] => {
  let [removed, added] = [0, 0];
  return diff
    .replace(/\n$/, '')
    .split('\n')
    .map((text) => {
      const hunk = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(text);
      if (hunk !== null) {
        [removed, added] = [Number(hunk[1] ?? 1), Number(hunk[2] ?? 1)];
        return { kind: 'hunk', text };
      }
      if (removed <= 0 && added <= 0) return { kind: kindOf(text), text };
      if (text.startsWith('+')) added -= 1;
      else if (text.startsWith('-')) removed -= 1;
      else if (!text.startsWith('\\')) [removed, added] = [removed - 1, added - 1];
      return { kind: text.startsWith('+') ? 'added' : text.startsWith('-') ? 'removed' : 'same', text };
    });
};

/** Whether a text is a unified diff. */
export const isDiff = (text: string): boolean => /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/m.test(text);

/** One file of a patch, with its number of added and removed lines. */
export type PatchFile = {
  /** As in the patch, `old → new` for a renamed file. */
  readonly name: string;
  readonly added: number;
  readonly removed: number;
  readonly lines: readonly DiffLine[];
};

const SAME_TWICE = /^diff --git a\/(.+) b\/\1$/;

/** From the lines before the first hunk: only they are git's own. */
const nameOf = (header: readonly string[]): string => {
  const after = (start: string): string | undefined =>
    header
      .find((line) => line.startsWith(start))
      ?.slice(start.length)
      .replace(/\t$/, '');
  const [from, to] = [after('rename from '), after('rename to ')];
  if (from !== undefined && to !== undefined) return `${from} → ${to}`;
  const [first = ''] = header;
  return (
    after('+++ b/') ?? after('--- a/') ?? SAME_TWICE.exec(first)?.[1] ?? first.replace(/^diff --git /, '')
  );
};

const patchFile = (lines: readonly DiffLine[]): PatchFile => {
  const hunk = lines.findIndex(({ kind }) => kind === 'hunk');
  const count = (kind: DiffLine['kind']): number => lines.filter((line) => line.kind === kind).length;
  return {
    name: nameOf(lines.slice(0, hunk === -1 ? lines.length : hunk).map(({ text }) => text)),
    added: count('added'),
    removed: count('removed'),
    lines,
  };
};

/**
 * The files of a patch of git. No line of a hunk begins with `diff --git`: it has a sign or a blank before it. `note` is
 * the last line of a shortened patch. A diff without names has no files.
 */
export const filesOfPatch = (
  patch: string,
): { readonly files: readonly PatchFile[]; readonly note?: string } => {
  if (!patch.startsWith('diff --git ')) return { files: [] };
  const [, note] = /\n(\[[^\n]*\])\n?$/.exec(patch) ?? [];
  const whole = note === undefined ? patch : patch.slice(0, patch.lastIndexOf(note));
  const files = whole.split(/^(?=diff --git )/m).map((text) => patchFile(diffLines(text)));
  return { files, ...(note !== undefined && { note }) };
};
