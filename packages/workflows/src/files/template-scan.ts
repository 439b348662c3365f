import { readdirSync } from 'node:fs';
import { parse, TomlError } from 'smol-toml';
import type { Identity } from '../config/selector.ts';
import { byBytes } from './byte-order.ts';
import { confine } from './confine.ts';
import { systemCode, WorkflowFileError } from './file-error.ts';
import { type ReadFile, readInside } from './read-inside.ts';

/** The folders with templates. Their subfolders are not searched. */
export const TEMPLATE_FOLDERS = [
  '.holdpoint/workflows',
  '.holdpoint',
  '.vizier/workflows',
  '.vizier/workflow',
  '.vizier',
] as const;

/** Far more templates than one folder needs. Files beyond the limit are reported and skipped. */
const FILES_MAX = 2_000;

export type FoundTemplate = Identity & { readonly file: string };
/** A file that may be the wanted template, but cannot be read. */
export type UnreadableFile = { readonly file: string; readonly why: string };

export type Scan = {
  readonly templates: readonly FoundTemplate[];
  readonly unreadable: readonly UnreadableFile[];
};

const reasonOf = (error: unknown): string => {
  if (error instanceof WorkflowFileError) return error.found;
  if (error instanceof TomlError)
    return `no TOML at ${String(error.line)}:${String(error.column)}: ${error.message.split('\n')[0] ?? ''}`;
  if (error instanceof SyntaxError) return `no JSON: ${error.message}`;
  throw error;
};

/** Undefined for a file that is not a template, such as a configuration. */
export const identityOf = (text: string, file: string): Identity | undefined => {
  const value: unknown = file.endsWith('.json') ? JSON.parse(text) : parse(text);
  if (typeof value !== 'object' || value === null || !('id' in value) || !('version' in value))
    return undefined;
  const { id, version } = value;
  return typeof id === 'string' && typeof version === 'string' ? { id, version } : undefined;
};

const namesIn = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder)
      .filter((name) => /\.(toml|json)$/.test(name))
      .sort(byBytes);
  } catch (cause) {
    const why = systemCode(cause) ?? 'an error';
    throw new WorkflowFileError('WORKFLOW_FILE_UNREADABLE', folder, why, { cause });
  }
};

/** The real paths of the files in a folder, so that a link to a listed folder adds nothing. */
const filesIn = (root: string, folder: string): readonly string[] => {
  const target = confine(root, folder);
  return target === undefined ? [] : namesIn(target.real).map((name) => `${folder}/${name}`);
};

const look = (root: string, read: ReadFile, path: string): FoundTemplate | undefined => {
  const file = confine(root, path)?.file;
  const text = file === undefined ? undefined : read(file);
  if (file === undefined || text === undefined) return undefined;
  const identity = identityOf(text, file);
  return identity === undefined ? undefined : { ...identity, file };
};

/** All templates of the repository by identity, and all unreadable files. */
export const scanTemplates = (root: string): Scan => {
  const templates = new Map<string, FoundTemplate>();
  const unreadable: UnreadableFile[] = [];
  const read = readInside(root);
  const trying = (file: string, action: () => void): void => {
    try {
      action();
    } catch (error) {
      unreadable.push({ file, why: reasonOf(error) });
    }
  };
  const scan = (folder: string): void => {
    const files = filesIn(root, folder);
    if (files.length > FILES_MAX)
      unreadable.push({ file: folder, why: `more than ${String(FILES_MAX)} templates` });
    for (const path of files.slice(0, FILES_MAX)) {
      trying(path, () => {
        const found = look(root, read, path);
        if (found !== undefined) templates.set(found.file, found);
      });
    }
  };
  for (const folder of TEMPLATE_FOLDERS) trying(folder, () => scan(folder));
  return { templates: [...templates.values()], unreadable };
};
