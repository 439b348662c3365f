import type { Json } from '@holdpoint/contracts/values/json';
import { expect, test } from 'vitest';
import { schemaFaults, violation } from './contract-schema.ts';

const TOKEN: Json = { type_id: 'stage_token', key: 'approve:notes' };

const keys = (schema: Json): Json => ({ type: 'object', properties: { key: schema } });

test.each<[title: string, schema: Json, path: string | undefined]>([
  ['true', true, undefined],
  ['false', false, 'a'],
  ['nothing', {}, undefined],
  ['the type', { type: 'object' }, undefined],
  ['one of its types', { type: ['string', 'object'] }, undefined],
  ['another type', { type: 'string' }, 'a'],
  ['a key that is there', { required: ['key'] }, undefined],
  ['a key that is not there', { required: ['key', 'slug'] }, 'a.slug'],
  ['keys beside the known ones', { properties: { key: true } }, undefined],
  ['no keys beside the known ones', { properties: { key: true }, additionalProperties: false }, 'a.type_id'],
  ['the value', keys({ const: 'approve:notes' }), undefined],
  ['another value', keys({ const: 'approve' }), 'a.key'],
  ['one of its values', keys({ enum: ['x', 'approve:notes'] }), undefined],
  ['none of its values', keys({ enum: ['x'] }), 'a.key'],
  ['the word', keys({ pattern: '^approve:notes$' }), undefined],
  ['a part of a word', keys({ pattern: '^approve:note$' }), 'a.key'],
  ['one of its words', keys({ pattern: '^(x|approve:notes)$' }), undefined],
  ['none of its words', keys({ pattern: '^(x|y)$' }), 'a.key'],
])('an artifact is validated against %s', (_, schema, path) => {
  expect(schemaFaults(schema, 'schema')).toEqual([]);
  expect(violation(schema, TOKEN, 'a')?.path).toBe(path);
});

test.each<[schema: Json, path: string]>([
  ['text', 'schema'],
  [[], 'schema'],
  [{ type: 'text' }, 'schema.type'],
  [{ required: 'key' }, 'schema.required'],
  [{ properties: [] }, 'schema.properties'],
  [{ additionalProperties: {} }, 'schema.additionalProperties'],
  [{ enum: 'x' }, 'schema.enum'],
  [{ pattern: 'approve' }, 'schema.pattern'],
  [{ pattern: '^a.c$' }, 'schema.pattern'],
  [{ pattern: '^(a|(b|c))$' }, 'schema.pattern'],
  [{ minLength: 3 }, 'schema.minLength'],
  [{ properties: { key: { minLength: 3 } } }, 'schema.properties.key.minLength'],
])('the schema %j is refused', (schema, path) => {
  expect(schemaFaults(schema, 'schema').map((fault) => fault.path)).toEqual([path]);
});
