import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A file that a repository is given to start with. */
export type ShippedFile = {
  /** From the top of the repository. */
  readonly path: string;
  readonly text: string;
};

const TEMPLATES = ['draft', 'approve', 'merge', 'develop'] as const;

const textOf = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../shipped/${name}`, import.meta.url)), 'utf8');

/** The stage templates, and a configuration that gives them their names. */
export const shippedFiles = (): readonly ShippedFile[] => [
  { path: '.holdpoint/config.toml', text: textOf('config.toml') },
  ...TEMPLATES.map((name) => ({ path: `.holdpoint/workflows/${name}.toml`, text: textOf(`${name}.toml`) })),
];
