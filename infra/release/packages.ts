/** A package for users: built from entries of the workspace, with the workspace packages that it does not depend on inside. */
export type PublicPackage = {
  readonly name: string;
  readonly description: string;
  /** Folder with the README of the package. */
  readonly folder: string;
  /** By subpath of `exports`: the source of the entry, or a pattern of sources as in `exports`. */
  readonly entries: Readonly<Record<string, string>>;
  /** Name of the command to source of its entry. */
  readonly commands?: Readonly<Record<string, string>>;
  /** Files that the code reads, and files for readers: folders or files of the workspace. */
  readonly assets?: readonly string[];
  /** Public packages that stay dependencies. */
  readonly dependsOn?: readonly string[];
};

const SHIPPED = 'packages/workflows/src/shipped';

export const PUBLIC_PACKAGES: readonly PublicPackage[] = [
  {
    name: '@holdpoint/contracts',
    description: 'Messages, endpoints and shared values of Holdpoint, with JSON Schemas and AsyncAPI.',
    folder: 'packages/contracts',
    entries: { './*': 'packages/contracts/src/*.ts' },
    assets: ['packages/contracts/asyncapi.json', 'packages/contracts/schemas'],
  },
  {
    name: '@holdpoint/sdk',
    description: 'Workflows in TypeScript whose side effects wait for an approval and run once.',
    folder: 'packages/sdk',
    entries: { '.': 'packages/sdk/src/index.ts', './testing': 'packages/sdk/src/testing.ts' },
    dependsOn: ['@holdpoint/contracts'],
  },
  {
    name: 'holdpoint',
    description:
      'The command line of Holdpoint: submit tasks, decide requests, follow jobs, read the audit log.',
    folder: 'packages/cli',
    entries: {},
    commands: { holdpoint: 'packages/cli/src/main.ts' },
    assets: [SHIPPED],
  },
];
