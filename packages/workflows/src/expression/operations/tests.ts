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
      : fail(`only whole numbers are odd or even, not ${kindOf(value)}`);

/** The tests after `is`. */
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

/** Runs a test by name, as filters such as `selectattr` do; some tests compare with another value. */
export const holds = (name: string, value: Value, other: Value, meter: Meter): boolean => {
  const comparison = COMPARISONS.get(name);
  if (comparison !== undefined) return applyOperator(comparison, value, other, meter) === true;
  const test = TESTS.get(name);
  return test === undefined ? fail(`there is no test ${JSON.stringify(name)}`) : test(value);
};
