import { readSource } from '../repo/source-tree.ts';

const BLOCK = /^```toml file=(?<name>[\w.]+)\n(?<text>[\s\S]*?)^```$/m;

/** The complete template at the start of the workflow guide. */
export const documentedTemplate = (): { readonly name: string; readonly text: string } => {
  const { name, text } = BLOCK.exec(readSource('docs/workflows.md'))?.groups ?? {};
  if (name === undefined || text === undefined) throw new Error('docs/workflows.md has no complete template');
  return { name, text };
};
