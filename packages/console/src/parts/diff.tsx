import { useMemo, useState } from 'preact/hooks';
import { diffLines } from '../text/diff-lines.ts';
import { Safe } from './safe.tsx';

const LINES_SHOWN = 400;
const LINE_MAX = 2_000;
const SAID = { added: 'added: ', removed: 'removed: ', same: '', hunk: '', file: '' } as const;

/** A unified diff, readable without colours. */
export const Diff = ({ text }: { readonly text: string }) => {
  const lines = useMemo(() => diffLines(text), [text]);
  const [shown, setShown] = useState(LINES_SHOWN);
  return (
    <div class="diff-box">
      <div class="diff" tabIndex={0} role="group" aria-label="Changes">
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
