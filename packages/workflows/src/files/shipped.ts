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

/** The stage templates, a configuration that gives them their names, and rules for what fails, to be written. */
export const shippedFiles = (): readonly ShippedFile[] => [
  { path: '.holdpoint/config.toml', text: textOf('config.toml') },
  { path: '.holdpoint/recovery.toml', text: textOf('recovery.toml') },
  ...TEMPLATES.map((name) => ({ path: `.holdpoint/workflows/${name}.toml`, text: textOf(`${name}.toml`) })),
];

/** The gates that come with Holdpoint. */
export const SHIPPED_GATES = ['approval_recovery_v2'] as const;

/** The text of a gate that comes with Holdpoint. */
export const shippedGate = (name: string): string | undefined =>
  SHIPPED_GATES.some((known) => known === name) ? textOf(`${name}.yaml`) : undefined;
