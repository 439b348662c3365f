import { BOOL, COUNT, parseBool, parseCount, parseTime, TIME } from '../../reading/coerce.ts';
import type { Expander } from './expander.ts';
import type { Report } from '../../problems/report.ts';
import { shown } from '../../problems/report.ts';
import type { Scalar } from '../../reading/table.ts';

type Meant = readonly [word: string, known: Iterable<string>];

/** Reads the fields of one node and reports problems under their paths. */
export type Fields = {
  /** A text with placeholders replaced. */
  text(value: string, field: string): string;
  bool(value: Scalar, field: string): boolean | undefined;
  count(value: Scalar, field: string): number | undefined;
  time(value: Scalar, field: string): number | undefined;
  error(code: string, field: string, found: string, expected: string, meant?: Meant): void;
  warning(code: string, field: string, found: string, expected: string): void;
};

/** Paths are `nodes[<id>].<field>`, and `nodes[<id>]` for the node itself. */
export const fieldsOf = (
  { id, file }: { readonly id: string; readonly file: string },
  expander: Expander,
  report: Report,
): Fields => {
  const at = (field: string) => ({ path: field === '' ? `nodes[${id}]` : `nodes[${id}].${field}`, file });
  const text = (value: string, field: string): string => expander.text(value, at(field));
  const error: Fields['error'] = (code, field, found, expected, meant) => {
    report.error({ code, ...at(field), found, expected, ...(meant !== undefined && { meant }) });
  };
  const parsed =
    <Value>(parse: (text: string) => Value | undefined, expected: string) =>
    (value: Scalar, field: string): Value | undefined => {
      const expanded = text(String(value), field);
      const result = parse(expanded);
      if (result === undefined) error('WORKFLOW_VALUE_COERCION', field, shown(expanded), expected);
      return result;
    };
  return {
    text,
    bool: parsed(parseBool, BOOL),
    count: parsed(parseCount, COUNT),
    time: parsed(parseTime, TIME),
    error,
    warning: (code, field, found, expected) => {
      report.warning({ code, ...at(field), found, expected });
    },
  };
};
