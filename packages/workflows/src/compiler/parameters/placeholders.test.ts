import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createExpander } from './expander.ts';
import { createReport } from '../../problems/report.ts';

const AT = { path: 'p', file: 'f' };

const expand = (text: string, values: Readonly<Record<string, string>> = {}) => {
  const report = createReport();
  const expander = createExpander(new Map(Object.entries(values)), report);
  return { text: expander.text(text, AT), codes: report.problems.map(({ code }) => code) };
};

test.each([
  ['a ${x} b', 'a 1 b'],
  ['${x}${x}', '11'],
  ['${ x }', '1'],
  ['$${x}', '${x}'],
  ['$$${x}', '$${x}'],
  ['$${x} ${x}', '${x} 1'],
  ['$x $ {x} {x}', '$x $ {x} {x}'],
  ['${secret:x} ${x}', '${secret:x} 1'],
  ['$${secret:x}', '${secret:x}'],
  ['$${', '${'],
  ['', ''],
])('%j becomes %j', (text, expected) => {
  expect(expand(text, { x: '1' })).toEqual({ text: expected, codes: [] });
});

test('substituted values are not scanned again', () => {
  expect(expand('${x}', { x: '${y} $${y}', y: 'no' }).text).toBe('${y} $${y}');
});

test.each([
  ['${y}', 'WORKFLOW_PLACEHOLDER_UNKNOWN'],
  ['${}', 'WORKFLOW_PLACEHOLDER_EMPTY'],
  ['${ }', 'WORKFLOW_PLACEHOLDER_EMPTY'],
  ['${x', 'WORKFLOW_PLACEHOLDER_UNCLOSED'],
  ['${HOME:-/root}', 'WORKFLOW_PLACEHOLDER_UNKNOWN'],
])('%j is refused and stays unchanged', (text, code) => {
  expect(expand(text, { x: '1' })).toEqual({ text, codes: [code] });
});

test('an escaped text is restored exactly', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('${', '{', '}', 'a', ' ', 'x}')), (parts) => {
      const text = parts.join('');
      expect(expand(text.replaceAll('${', () => '$${'))).toEqual({ text, codes: [] });
    }),
  );
});
