import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import specs from '@asyncapi/specs';
import { Ajv, type AnySchemaObject } from 'ajv';
import addFormats from 'ajv-formats';
import { describe, expect, test } from 'vitest';
import { asyncApiDocument } from './asyncapi.ts';
import { GENERATE_COMMAND, generatedFiles, staleFiles } from './generated.ts';

const PACKAGE = join(import.meta.dirname, '../..');

const checkedIn = (): ReadonlyMap<string, string> => {
  const entries = readdirSync(join(PACKAGE, 'schemas'), { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const paths = [
    ...files.map((file) => relative(PACKAGE, file).split(sep).join('/')),
    'asyncapi.json',
    'openapi.json',
    'vectors/remote-effects.json',
  ];
  return new Map(paths.map((path) => [path, readFileSync(join(PACKAGE, path), 'utf8')]));
};

test('the generated files are up to date', () => {
  expect(staleFiles(checkedIn(), generatedFiles())).toEqual([]);
});

describe('a stale file is named, with the command to run', () => {
  const wanted = new Map([['schemas/event/a.json', '{}']]);

  test.each([
    ['a missing one', new Map<string, string>(), 'schemas/event/a.json is missing'],
    ['a changed one', new Map([['schemas/event/a.json', '{ }']]), 'schemas/event/a.json is out of date'],
    [
      'one too many',
      new Map([...wanted, ['schemas/event/b.json', '{}']]),
      'schemas/event/b.json belongs to no message',
    ],
  ])('%s', (_, found, problem) => {
    expect(staleFiles(found, wanted)).toEqual([`${problem}: run ${GENERATE_COMMAND}`]);
  });
});

describe('the AsyncAPI document', () => {
  const ajv = new Ajv({ strict: false, allErrors: true });
  addFormats.default(ajv);
  const validate = ajv.compile({ ...specs.schemasWithoutId['3.0.0'] } as AnySchemaObject);
  const problems = (document: unknown): readonly string[] => {
    if (validate(document) === true) return [];
    return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${String(message)}`);
  };

  test('the document is valid AsyncAPI 3', () => {
    expect(problems(asyncApiDocument())).toEqual([]);
  });

  test('the validator refuses an invalid document', () => {
    expect(problems({ ...asyncApiDocument(), channels: { bad: { addres: 'hp.evt' } } })).not.toEqual([]);
  });

  const document = JSON.parse(JSON.stringify(asyncApiDocument())) as Node;

  test('every reference of the document resolves', () => {
    const files = generatedFiles();
    const references = referencesIn(document);
    expect(references.length).toBeGreaterThan(100);
    expect(references.filter((reference) => !resolves(reference, document, files))).toEqual([]);
  });

  test('every command has a receiver', () => {
    const operations = Object.values(document['operations'] as Record<string, Operation>);
    const commands = Object.keys(document['channels'] as Node).filter((key) => key.startsWith('cmd.'));
    const read = new Set(
      operations.filter(({ action }) => action === 'receive').map(({ channel }) => channel.$ref),
    );
    expect(commands.filter((key) => !read.has(`#/channels/${key}`))).toEqual([]);
  });
});

type Node = Readonly<Record<string, unknown>>;
type Operation = { readonly action: string; readonly channel: { readonly $ref: string } };

const referencesIn = (value: unknown): readonly string[] => {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === '$ref' ? [String(inner)] : referencesIn(inner),
  );
};

const resolves = (reference: string, document: Node, files: ReadonlyMap<string, string>): boolean => {
  if (!reference.startsWith('#/')) return files.has(reference.replace('./', ''));
  const path = reference.slice(2).split('/');
  return path.reduce<unknown>((value, key) => (value as Node | undefined)?.[key], document) !== undefined;
};
