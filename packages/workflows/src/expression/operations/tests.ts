import { fail } from './expression-error.ts';
import type { Meter } from './meter.ts';
import { applyOperator, type Comparison } from './operators.ts';
import { isList, isRecord, kindOf, type Value } from './values.ts';

type Test = (value: Value) => boolean;

const parity =
  (remainder: number): Test =>
  (value) =>
    typeof value === 'number' && Number.isInteger(value)
      ? Math.abs(value % 2) === remainder
      : fail(`only a whole number is odd or even, and this is ${kindOf(value)}`);

/** What can be asked of a value by `is`. */
export const TESTS: ReadonlyMap<string, Test> = new Map<string, Test>([
  ['defined', (value) => value !== undefined],
  ['undefined', (value) => value === undefined],
  ['none', (value) => value === null],
  ['true', (value) => value === true],
  ['false', (value) => value === false],
  ['boolean', (value) => typeof value === 'boolean'],
  ['string', (value) => typeof value === 'string'],
  ['number', (value) => typeof value === 'number'],
  ['integer', (value) => Number.isInteger(value)],
  ['float', (value) => typeof value === 'number' && !Number.isInteger(value)],
  ['mapping', isRecord],
  ['sequence', (value) => isList(value) || typeof value === 'string'],
  ['iterable', (value) => isList(value) || isRecord(value) || typeof value === 'string'],
  ['odd', parity(1)],
  ['even', parity(0)],
  ['lower', (value) => typeof value === 'string' && value === value.toLowerCase()],
  ['upper', (value) => typeof value === 'string' && value === value.toUpperCase()],
]);

const COMPARISONS: ReadonlyMap<string, Comparison> = new Map<string, Comparison>([
  ['equalto', '=='],
  ['eq', '=='],
  ['==', '=='],
  ['ne', '!='],
  ['!=', '!='],
  ['lt', '<'],
  ['<', '<'],
  ['le', '<='],
  ['<=', '<='],
  ['gt', '>'],
  ['>', '>'],
  ['ge', '>='],
  ['>=', '>='],
  ['in', 'in'],
]);

/** A test by the name that a filter such as `selectattr` is given, which may compare with another value. */
export const holds = (name: string, value: Value, other: Value, meter: Meter): boolean => {
  const comparison = COMPARISONS.get(name);
  if (comparison !== undefined) return applyOperator(comparison, value, other, meter) === true;
  const test = TESTS.get(name);
  return test === undefined ? fail(`there is no test ${JSON.stringify(name)}`) : test(value);
};
