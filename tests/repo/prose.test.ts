import { describe, expect, test } from 'vitest';
import { isMarked, type Kind, readTexts, textsOf } from './prose.ts';

/** The largest share of texts with a marker, by kind. These numbers may only fall. */
const MOST: Readonly<Record<Kind, number>> = { doc: 0.005, string: 0.005, comment: 0.03, title: 0.03 };

test('the English of the repository follows docs/style.md', () => {
  const texts = readTexts();
  for (const kind of ['doc', 'string', 'comment', 'title'] as const) {
    const all = texts.filter((each) => each.kind === kind);
    const marked = all.filter(isMarked);
    const worst = marked.slice(0, 10).map(({ file, text }) => `${file}: ${text.slice(0, 120)}`);
    expect(all.length, kind).toBeGreaterThan(500);
    expect(marked.length / all.length, `${kind}:\n${worst.join('\n')}`).toBeLessThanOrEqual(MOST[kind]);
  }
});

describe('the check of the English', () => {
  test.each([
    ['a comment', 'a.ts', '/** What is told of one message must wait. */', 'comment'],
    ['a line comment', 'a.ts', '// Whoever asks for it gets an answer.\n', 'comment'],
    ['a string', 'a.ts', `throw new Error('nobody has said who this is');`, 'string'],
    ['a title', 'a.test.ts', `test('somebody is asked what to do', () => {});`, 'title'],
    ['a document', 'a.md', 'He decides what comes next.', 'doc'],
  ])('finds the marker in %s', (_, file, content, kind) => {
    expect(textsOf(file, content).filter(isMarked)).toMatchObject([{ kind, file }]);
  });

  test('accepts plain text, code in documents, and short texts', () => {
    expect(textsOf('a.ts', '/** A failing callback must not block the others. */').some(isMarked)).toBe(
      false,
    );
    expect(textsOf('a.md', 'The command is `holdpoint whatever now please`.').some(isMarked)).toBe(false);
    expect(textsOf('a.ts', '// what is it\n')).toEqual([]);
  });
});
