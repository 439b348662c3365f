import { marked, type Token } from 'marked';

/** A block of code that a document says is a whole file. */
export type DocumentedFile = {
  readonly name: string;
  readonly code: string;
  /** It ends by itself, without anything around it. */
  readonly runs: boolean;
};

const INFO = /^ts file=(?<name>[a-z][a-z0-9-]*\.ts)(?<runs> run)?$/u;

/** Every block that is marked as a file: `ts file=greet.ts`, and `ts file=check.ts run`. Throws for what is marked wrongly. */
export const filesIn = (document: string, markdown: string): readonly DocumentedFile[] => {
  const blocks: Extract<Token, { readonly type: 'code' }>[] = [];
  void marked.walkTokens(marked.lexer(markdown), (token) => {
    if (token.type === 'code') blocks.push(token as (typeof blocks)[number]);
  });
  const files = blocks
    .map(({ lang, text }) => ({ lang: lang ?? '', code: `${text}\n` }))
    .filter(({ lang }) => /^ts\s+\S/.test(lang))
    .map(({ lang, code }) => {
      const { name, runs } = INFO.exec(lang)?.groups ?? {};
      if (name === undefined) throw new Error(`${document}: what is to be done with \`\`\`${lang}?`);
      return { name, code, runs: runs !== undefined };
    });
  const twice = files.find(({ name }, index) => files.findIndex((each) => each.name === name) < index);
  if (twice !== undefined) throw new Error(`${document}: ${twice.name} is there twice`);
  return files;
};

const PYTHON = /^```python file=(?<name>\w+\.py)\n(?<code>[\s\S]*?)^```$/gmu;

/** Every block that is marked as a program: `python file=refund.py`. */
export const programsIn = (markdown: string): ReadonlyMap<string, string> =>
  new Map(
    [...markdown.matchAll(PYTHON)].map(({ groups }) => [groups?.['name'] ?? '', groups?.['code'] ?? '']),
  );
