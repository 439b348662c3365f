import { useMemo, useState } from 'preact/hooks';
import { excerpt, piecesOf } from '../text/visible.ts';

/** A text that somebody else wrote, with all of it visible and nothing of it acted upon. */
export const Safe = ({ text }: { readonly text: string }) => {
  const pieces = useMemo(() => piecesOf(text), [text]);
  return (
    <bdi>
      {pieces.map((piece) =>
        'text' in piece ? (
          piece.text
        ) : (
          <span class="mark" title="a character that is not seen otherwise">
            {piece.mark}
          </span>
        ),
      )}
    </bdi>
  );
};

const LIMITS = { characters: 4_000, lines: 60 } as const;
/** Even what was opened is shown in parts: a browser lays out no text of any length. */
const STEP = 16;

/** The same for a long one: what is behind the first part is shown when it is asked for. */
export const Long = ({
  text,
  characters = LIMITS.characters,
  lines = LIMITS.lines,
  block = true,
}: {
  readonly text: string;
  readonly characters?: number;
  readonly lines?: number;
  readonly block?: boolean;
}) => {
  const [factor, setFactor] = useState(1);
  const { shown, left } = excerpt(text, { characters: characters * factor, lines: lines * factor });
  const more = left > 0 && (
    <button type="button" class="link" onClick={() => setFactor(factor * STEP)}>
      show more ({left.toLocaleString()} characters left)
    </button>
  );
  const less = factor > 1 && (
    <button type="button" class="link" onClick={() => setFactor(1)}>
      show less
    </button>
  );
  return block ? (
    <div class="long">
      <pre tabIndex={0}>
        <Safe text={shown} />
        {left > 0 && '…'}
      </pre>
      {more} {less}
    </div>
  ) : (
    <span class="long-inline">
      <Safe text={shown} />
      {left > 0 && '… '}
      {more} {less}
    </span>
  );
};

/** One line of it, cut at its end. */
export const Short = ({ text, max = 120 }: { readonly text: string; readonly max?: number }) => {
  const { shown, left } = excerpt(text, { characters: max, lines: 1 });
  return (
    <>
      <Safe text={shown} />
      {left > 0 && '…'}
    </>
  );
};
