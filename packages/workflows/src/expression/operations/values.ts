import { canonicalJson, type Json } from '@holdpoint/contracts/values/json';
import { fail } from './expression-error.ts';
import type { Meter } from './meter.ts';

/** A JSON value, or undefined for a missing member. */
export type Value = Json | undefined;
export type List = readonly Json[];
export type JsonRecord = { readonly [key: string]: Json };

export const isList = (value: Value): value is List => Array.isArray(value);
export const isRecord = (value: Value): value is JsonRecord =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The name of a value's type in error messages. */
export const kindOf = (value: Value): string => {
  if (value === undefined) return 'undefined (no such member)';
  if (value === null) return 'null';
  if (isList(value)) return 'a list';
  if (isRecord(value)) return 'an object';
  return `a ${typeof value}`;
};

/** Own properties only: inherited ones belong to the host. */
export const memberOf = (record: JsonRecord, key: string): Value =>
  Object.hasOwn(record, key) ? record[key] : undefined;

/** In a fixed order, independent of the store. */
export const keysOf = (record: JsonRecord, meter: Meter): string[] => {
  const keys = Object.keys(record);
  meter.work(keys.length * 8);
  return keys.sort();
};

export const isTrue = (value: Value, meter: Meter): boolean => {
  if (isList(value)) return value.length > 0;
  return isRecord(value) ? keysOf(value, meter).length > 0 : Boolean(value);
};

/** Equal in type and content: `'1'` is not a number, and `''` is not zero. */
export const isEqual = (one: Value, other: Value, meter: Meter): boolean => {
  meter.work(typeof one === 'string' ? one.length : 1);
  if (isList(one) && isList(other)) {
    return one.length === other.length && one.every((item, at) => isEqual(item, other[at], meter));
  }
  if (isRecord(one) && isRecord(other)) {
    const keys = Object.keys(one);
    meter.work(keys.length);
    return (
      keys.length === Object.keys(other).length &&
      keys.every((key) => Object.hasOwn(other, key) && isEqual(one[key], other[key], meter))
    );
  }
  return one === other;
};

/** Compares two numbers or two texts. Texts compare by code units, independent of the locale. */
export const compare = (one: Value, other: Value, meter: Meter): number => {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  if (typeof one === 'string' && typeof other === 'string') {
    meter.work(Math.min(one.length, other.length));
    if (one === other) return 0;
    return one < other ? -1 : 1;
  }
  return fail(`cannot compare ${kindOf(one)} with ${kindOf(other)}`);
};

/** The letters of a text; a surrogate pair is one letter. */
export const lettersOf = (text: string, meter: Meter): readonly string[] => {
  meter.work(text.length);
  return Array.from(text);
};

/** Refuses half a surrogate pair: it has no JSON text and no digest. */
const whole = (text: string): number =>
  text.isWellFormed() ? text.length : fail('gives a text with half a character');

/** The size of a value: its characters and members, recursively. */
export const sizeOf = (value: Value, meter: Meter): number => {
  meter.work(1);
  if (typeof value === 'string') return whole(value);
  if (isList(value)) return value.reduce<number>((sum, item) => sum + 1 + sizeOf(item, meter), 0);
  if (!isRecord(value)) return 1;
  return Object.entries(value).reduce((sum, [key, item]) => sum + whole(key) + sizeOf(item, meter), 0);
};

/**
 * A value as part of a text. A missing value is an error, because an empty text would make a different key.
 */
export const textOf = (value: Value, meter: Meter): string => {
  if (typeof value === 'string') return value;
  if (value === undefined) return fail(`is undefined: no such member (add "| default('')" to allow this)`);
  if (value === null) return fail(`is null (add "| default('', true)" to allow this)`);
  if (typeof value !== 'object') return String(value);
  meter.size(sizeOf(value, meter));
  return canonicalJson(value);
};
