import type { RawContract, RawNode, RawPolicy } from './schema.ts';

/** A node of a composed template: its id has all prefixes, its texts are as written. */
export type TemplateNode = RawNode & {
  /** The import it came from. */
  readonly stage?: string;
  readonly file: string;
  /** The parameters that its own file declares; other stages' parameters do not apply. */
  readonly scope: ReadonlySet<string>;
};

export type TemplateContract = RawContract & { readonly file: string; readonly path: string };

/** A template with its imports: one list of nodes, one set of parameters with defaults. */
export type Template = {
  /** False after any error: the template can be checked further, but not compiled. */
  readonly sound: boolean;
  readonly file: string;
  readonly id: string;
  readonly version: string;
  readonly params: ReadonlyMap<string, string>;
  readonly cli: {
    readonly positional: readonly string[];
    readonly named: Readonly<Record<string, string>>;
  };
  readonly policy: RawPolicy;
  readonly contracts: readonly TemplateContract[];
  readonly nodes: readonly TemplateNode[];
};
