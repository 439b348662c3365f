import { useMemo, useState } from 'preact/hooks';
import { excerpt, piecesOf } from '../text/visible.ts';

/** Untrusted text with every character visible. */
export const Safe = ({ text }: { readonly text: string }) => {
  const pieces = useMemo(() => piecesOf(text), [text]);
  return (
    <bdi>
      {pieces.map((piece) =>
        'text' in piece ? (
          piece.text
        ) : (
          <span class="mark" title="an invisible character">
            {piece.mark}
          </span>
        ),
      )}
    </bdi>
  );
};

const LIMITS = { characters: 4_000, lines: 60 } as const;
/** Expanded texts are shown in parts: browsers cannot lay out arbitrarily long texts. */
const STEP = 16;

/** A long text: the rest is shown on request. */
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

/** The text as one truncated line. */
export const Short = ({ text, max = 120 }: { readonly text: string; readonly max?: number }) => {
  const { shown, left } = excerpt(text, { characters: max, lines: 1 });
  return (
    <>
      <Safe text={shown} />
      {left > 0 && '…'}
    </>
  );
};
