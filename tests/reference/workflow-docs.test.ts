import { compileTemplate, loadTemplate } from '@holdpoint/workflows/compiler/compile';
import { expect, test } from 'vitest';
import { documentedTemplate } from './documented-template.ts';

test('the complete template of the workflow guide compiles without problems', () => {
  const { name, text } = documentedTemplate();
  const { template, problems } = loadTemplate(name, (path) => (path === name ? text : undefined));
  expect(problems).toEqual([]);
  if (template === undefined) throw new Error('the guide has no complete template');
  const compiled = compileTemplate(template, {
    positional: ['live'],
    named: {},
    set: {},
    agentFor: () => undefined,
  });
  expect(compiled.problems).toEqual([]);
  expect(compiled.definition?.nodes.map(({ id }) => id)).toEqual(['build', 'deploy']);
  expect(compiled.params).toEqual({ target: 'live' });
});
