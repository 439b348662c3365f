import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { otherConfig, OWN_CONFIG } from './config-file.ts';
import { systemCode, WorkflowFileError } from './file-error.ts';
import { readInside } from './read-inside.ts';
import { type ShippedFile, shippedFiles } from './shipped.ts';
import { identityOf, scanTemplates } from './template-scan.ts';

/** The initial files, relative to the repository. */
export type InitResult = {
  /** Created now, or missing when only checked. */
  readonly written: readonly string[];
  readonly present: readonly string[];
  /** Exist with different content, and stay unchanged. */
  readonly differing: readonly string[];
  /** Left out, because another file is a template with the same identity. */
  readonly taken?: readonly { readonly file: string; readonly by: string }[];
  /** A configuration of another tool that stays in use: no configuration is created beside it. */
  readonly adopted?: string;
  /** A configuration of another tool that does not count, because the repository has `.holdpoint/config.toml`. */
  readonly unused?: string;
};

/** Runs leave files behind that do not belong into git. */
const IGNORED: ShippedFile = { path: '.holdpoint/.gitignore', text: 'data/\nworktrees/\ntmp/\n' };

type State = 'written' | 'present' | 'differing';

const UNUSABLE: ReadonlySet<string> = new Set([
  'WORKFLOW_NOT_A_FILE',
  'WORKFLOW_FILE_TOO_LARGE',
  'WORKFLOW_FILE_NOT_TEXT',
]);

const stateOf = (root: string, { path, text }: ShippedFile): State => {
  try {
    const there = readInside(root)(path);
    if (there === undefined) return 'written';
    return there === text ? 'present' : 'differing';
  } catch (error) {
    if (error instanceof WorkflowFileError && UNUSABLE.has(error.code)) return 'differing';
    throw error;
  }
};

/** Creates a file. A file that appears meanwhile is kept, and a half-written file is removed. */
const create = (root: string, { path, text }: ShippedFile): void => {
  const file = join(root, path);
  let made = false;
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, '', { flag: 'wx' });
    made = true;
    writeFileSync(file, text, { flush: true });
  } catch (cause) {
    if (made) rmSync(file, { force: true });
    throw new WorkflowFileError('WORKFLOW_FILE_UNWRITABLE', path, systemCode(cause) ?? 'an error', { cause });
  }
};

/** The other file that has the identity of this template: a second one would make its name ambiguous. */
const takenBy = (root: string): ((file: ShippedFile) => string | undefined) => {
  const { templates } = scanTemplates(root);
  return ({ path, text }) => {
    const own = identityOf(text, path);
    return templates.find(
      ({ id, version, file }) => id === own?.id && version === own.version && file !== path,
    )?.file;
  };
};

/**
 * Gives a repository the stage templates and a configuration. Never changes an existing file, never replaces a
 * configuration in use by a new one, and never runs git; with `check` it writes nothing.
 */
export const initRepository = (root: string, { check }: { readonly check: boolean }): InitResult => {
  const all = [IGNORED, ...shippedFiles()].map((file) => ({ file, state: stateOf(root, file) }));
  const other = otherConfig(root);
  const isNew = all.some(({ file, state }) => file.path === OWN_CONFIG && state === 'written');
  const adopts = other !== undefined && isNew;
  const otherOf = takenBy(root);
  const taken = all.flatMap(({ file, state }) => {
    const by = state === 'written' && file.path.endsWith('.toml') ? otherOf(file) : undefined;
    return by === undefined ? [] : [{ file: file.path, by }];
  });
  const left = new Set([...taken.map(({ file }) => file), ...(adopts ? [OWN_CONFIG] : [])]);
  const states = all.filter(({ file }) => !left.has(file.path));
  const having = (wanted: State): readonly string[] =>
    states.filter(({ state }) => state === wanted).map(({ file }) => file.path);
  if (!check) for (const { file, state } of states) if (state === 'written') create(root, file);
  return {
    written: having('written'),
    present: having('present'),
    differing: having('differing'),
    ...(taken.length > 0 && { taken }),
    ...(other !== undefined && (adopts ? { adopted: other } : { unused: other })),
  };
};
