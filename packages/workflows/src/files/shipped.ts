import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** An initial file of a repository. */
export type ShippedFile = {
  /** Relative to the repository. */
  readonly path: string;
  readonly text: string;
};

const TEMPLATES = ['hello', 'draft', 'approve', 'merge', 'develop'] as const;

const textOf = (name: string): string =>
  readFileSync(fileURLToPath(new URL(`../shipped/${name}`, import.meta.url)), 'utf8');

/** The files that `init` writes: a small workflow and program, stage templates, a configuration with their aliases, and recovery rules. */
export const shippedFiles = (): readonly ShippedFile[] => [
  { path: '.holdpoint/config.toml', text: textOf('config.toml') },
  { path: '.holdpoint/recovery.toml', text: textOf('recovery.toml') },
  ...TEMPLATES.map((name) => ({ path: `.holdpoint/workflows/${name}.toml`, text: textOf(`${name}.toml`) })),
  { path: '.holdpoint/programs/hello.mjs', text: textOf('hello.mjs') },
];

export const SHIPPED_GATES = ['approval_recovery_v2'] as const;

export const shippedGate = (name: string): string | undefined =>
  SHIPPED_GATES.some((known) => known === name) ? textOf(`${name}.yaml`) : undefined;
