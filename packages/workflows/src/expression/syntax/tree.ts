import type { Json } from '@holdpoint/contracts/values/json';
import type { BinaryOperator } from '../operations/operators.ts';

/** The nodes of an expression. None of them loops, assigns, or refers to the host. */
export type Expression =
  | { readonly kind: 'value'; readonly value: Json }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'list'; readonly items: readonly Expression[] }
  | { readonly kind: 'record'; readonly entries: readonly (readonly [Expression, Expression])[] }
  | { readonly kind: 'member'; readonly of: Expression; readonly key: Expression }
  | ({ readonly kind: 'slice'; readonly of: Expression } & SliceBounds)
  | { readonly kind: 'not'; readonly of: Expression }
  | { readonly kind: 'sign'; readonly minus: boolean; readonly of: Expression }
  | { readonly kind: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | {
      readonly kind: 'binary';
      readonly operator: BinaryOperator;
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly kind: 'choice';
      readonly condition: Expression;
      readonly yes: Expression;
      readonly no: Expression | undefined;
    }
  | { readonly kind: 'test'; readonly name: string; readonly of: Expression; readonly negated: boolean }
  | {
      readonly kind: 'filter' | 'method';
      readonly name: string;
      readonly of: Expression;
      /** In parameter order; a missing argument is `undefined`. */
      readonly args: readonly (Expression | undefined)[];
    };

export type SliceBounds = {
  readonly start: Expression | undefined;
  readonly stop: Expression | undefined;
  readonly step: Expression | undefined;
};
