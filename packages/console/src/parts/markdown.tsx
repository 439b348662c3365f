import type { Token, Tokens } from 'marked';
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Long, Safe } from './safe.tsx';

type Lexer = (text: string) => readonly Token[];
let lexer: Lexer | undefined;

/** Larger texts are shown as plain text. */
const TEXT_MAX = 64_000;

const inner = (tokens: readonly Token[] | undefined): ComponentChildren =>
  tokens?.map((token, i) => <Piece key={i} token={token} />);

/** Renders one Markdown token. Links, images and tags of untrusted texts are shown as text. */
const Piece = ({ token }: { readonly token: Token }) => {
  switch (token.type) {
    case 'space':
      return null;
    case 'heading':
      return <h4>{inner(token.tokens)}</h4>;
    case 'paragraph':
      return <p>{inner(token.tokens)}</p>;
    case 'strong':
      return <strong>{inner(token.tokens)}</strong>;
    case 'em':
      return <em>{inner(token.tokens)}</em>;
    case 'br':
      return <br />;
    case 'hr':
      return <hr />;
    case 'blockquote':
      return <blockquote>{inner(token.tokens)}</blockquote>;
    case 'code':
      return <Long text={(token as Tokens.Code).text} />;
    case 'codespan':
      return (
        <code>
          <Safe text={(token as Tokens.Codespan).text} />
        </code>
      );
    case 'escape':
      return <Safe text={(token as Tokens.Escape).text} />;
    case 'list': {
      const { ordered, items } = token as Tokens.List;
      const lines = items.map((item, i) => <li key={i}>{inner(item.tokens)}</li>);
      return ordered ? <ol>{lines}</ol> : <ul>{lines}</ul>;
    }
    case 'text':
      return token.tokens === undefined ? (
        <Safe text={(token as Tokens.Text).text} />
      ) : (
        <>{inner(token.tokens)}</>
      );
    default:
      return <Safe text={token.raw} />;
  }
};

/** Untrusted Markdown. Falls back to plain text while the parser loads, and on errors. */
export const Markdown = ({ text }: { readonly text: string }) => {
  const [read, setRead] = useState<Lexer | undefined>(() => lexer);
  useEffect(() => {
    if (read !== undefined) return;
    void import('marked').then(({ lexer: found }) => {
      lexer = (source) => found(source, { gfm: true });
      setRead(() => lexer);
    });
  }, [read]);
  let tokens: readonly Token[] | undefined;
  try {
    tokens = text.length > TEXT_MAX ? undefined : read?.(text);
  } catch {
    // Nested too deeply: plain text is readable enough.
    tokens = undefined;
  }
  return tokens === undefined ? <Long text={text} /> : <div class="markdown">{inner(tokens)}</div>;
};
