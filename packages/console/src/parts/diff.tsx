import { type DiffLine, diffLines, filesOfPatch, type PatchFile } from '@holdpoint/contracts/effect/patch';
import { useMemo, useState } from 'preact/hooks';
import { Safe } from './safe.tsx';

const LINES_SHOWN = 400;
const LINE_MAX = 2_000;
/** A patch of more files is folded to their headings. */
const FILES_OPEN = 5;
const FILES_SHOWN = 50;
const SAID = { added: 'added: ', removed: 'removed: ', same: '', hunk: '', file: '' } as const;

const Lines = ({ lines, label }: { readonly lines: readonly DiffLine[]; readonly label: string }) => {
  const [shown, setShown] = useState(LINES_SHOWN);
  return (
    <div class="diff-box">
      <div class="diff" tabIndex={0} role="group" aria-label={label}>
        {lines.slice(0, shown).map(({ kind, text: line }, i) => (
          <div key={i} class={`line ${kind}`}>
            {SAID[kind] !== '' && <span class="unseen">{SAID[kind]}</span>}
            <Safe text={line.length > LINE_MAX ? `${line.slice(0, LINE_MAX)} …` : line} />
          </div>
        ))}
      </div>
      {lines.length > shown && (
        <button type="button" class="link" onClick={() => setShown(shown * 4)}>
          show more ({(lines.length - shown).toLocaleString()} lines left)
        </button>
      )}
    </div>
  );
};

const File = ({ file, open }: { readonly file: PatchFile; readonly open: boolean }) => (
  <details class="diff-file" open={open}>
    <summary>
      <Safe text={file.name} /> <span class="added">+{file.added.toLocaleString()}</span>{' '}
      <span class="removed">−{file.removed.toLocaleString()}</span>
    </summary>
    <Lines lines={file.lines} label={`Changes of ${file.name}`} />
  </details>
);

/** A unified diff, readable without colours; a patch of git file by file. */
export const Diff = ({ text }: { readonly text: string }) => {
  const { files, note } = useMemo(() => filesOfPatch(text), [text]);
  const [shown, setShown] = useState(FILES_SHOWN);
  if (files.length === 0) return <Lines lines={diffLines(text)} label="Changes" />;
  return (
    <>
      {files.slice(0, shown).map((file, i) => (
        <File key={i} file={file} open={files.length <= FILES_OPEN} />
      ))}
      {files.length > shown && (
        <button type="button" class="link" onClick={() => setShown(shown * 4)}>
          show more ({(files.length - shown).toLocaleString()} files left)
        </button>
      )}
      {note !== undefined && (
        <p>
          <Safe text={note} />
        </p>
      )}
    </>
  );
};
