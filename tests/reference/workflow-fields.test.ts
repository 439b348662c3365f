import { loadTemplate } from '@holdpoint/workflows/compiler/compile';
import { FIELD_DOCS } from '@holdpoint/workflows/template/field-docs';
import { expect, test } from 'vitest';
import { readSource } from '../repo/source-tree.ts';
import { GENERATE_COMMAND } from './settings.ts';
import { WORKFLOW_FIELDS_FILE, workflowFields, workflowFieldsReference } from './workflow-fields.ts';

test('the checked-in reference of workflow fields matches the schemas', () => {
  expect(readSource(WORKFLOW_FIELDS_FILE), `run ${GENERATE_COMMAND}`).toBe(
    workflowFieldsReference(GENERATE_COMMAND),
  );
});

test('every field of the schemas is documented, and no other', () => {
  const fields = workflowFields().map(({ path }) => path);
  expect(Object.keys(FIELD_DOCS).toSorted()).toEqual([...new Set(fields)].toSorted());
});

test('every optional field states what happens when it is left out', () => {
  const silent = workflowFields().filter(({ path, isRequired }) => {
    const isVariant = /\.(gates|preconditions)\[\]\./.test(path);
    return !isRequired && !isVariant && FIELD_DOCS[path]?.otherwise === undefined;
  });
  expect(silent).toEqual([]);
});

const NODE = ['id = "n"', 'uses = "cap.env.shell.command.run"'];

/** A template with one example in the right table. */
const templateWith = (path: string, example: string): string => {
  const head = ['id = "t"', 'version = "v1"'].filter((line) => !line.startsWith(`${path} =`));
  const field = path.split('.').at(-1) ?? '';
  const parents = path.split('.').slice(0, -1);
  // Inline tables nest an example of a deeper field; a list entry becomes a list of one.
  const nested = parents.reduceRight((inner, parent) => {
    const name = parent.replace('[]', '');
    if (name === 'nodes') return inner;
    const rest = REQUIRED[parents.slice(0, parents.indexOf(parent) + 1).join('.')] ?? [];
    const table = `{ ${[inner, ...rest.filter((line) => !line.startsWith(`${field} =`))].join(', ')} }`;
    return `${name} = ${parent.endsWith('[]') ? `[${table}]` : table}`;
  }, example);
  if (!path.startsWith('nodes[].')) return [nested, ...head].join('\n');
  return [
    ...head,
    '[[nodes]]',
    nested,
    ...NODE.filter((line) => !nested.startsWith(`${line.split(' ')[0] ?? ''} =`)),
  ].join('\n');
};

/** Other required fields of the tables around an example. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  'artifact_contracts[]': ['id = "plan_doc"'],
  'nodes[].effect': ['side_effect_kind = "deploy"', 'idempotency_key = "k"', 'target = "t"'],
  'nodes[].gates[]': ['kind = "custom"', 'id = "conflict_resolution"'],
  'nodes[].preconditions[]': ['kind = "custom"', 'id = "branch_exists"'],
};

const EXAMPLES = Object.entries(FIELD_DOCS).flatMap(([path, { example }]) =>
  example === undefined ? [] : [[path, example] as const],
);

test.each(EXAMPLES)('the example of %s has the shape that the schema accepts', (path, example) => {
  const text = templateWith(path, example);
  const { problems } = loadTemplate('t.toml', () => text);
  const shape = problems.filter(({ code }) => /SYNTAX|KEY_|VALUE_INVALID/.test(code));
  expect(shape, text).toEqual([]);
});
