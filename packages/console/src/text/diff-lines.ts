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
