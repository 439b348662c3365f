import type { RawContract, RawNode, RawPolicy } from './schema.ts';

/** A node of a composed template: its id is that of the whole, its texts are as they were written. */
export type TemplateNode = RawNode & {
  /** The import that it came from. */
  readonly stage?: string;
  readonly file: string;
  /** The parameters that its own file declares: those of other stages say nothing about it. */
  readonly scope: ReadonlySet<string>;
};

export type TemplateContract = RawContract & { readonly file: string; readonly path: string };

/** A template with all of its imports: one list of nodes, and one set of parameters with their defaults. */
export type Template = {
  /** Nothing was wrong when it was read. What could be read of any other is looked at, but makes no definition. */
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
