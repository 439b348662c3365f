import type { NodeDraft } from '../node/node-draft.ts';
import { PERSIST } from '../node/labels.ts';
import { firstText, type Args } from '../node/node-args.ts';
import { shown } from '../../problems/report.ts';

/** The text of a specification, by the path that was given for it; nothing where it cannot be read. */
export type SpecFile = (path: string) => string | undefined;

const readSpec = (path: string, read: SpecFile): string | undefined => {
  try {
    return read(path);
  } catch {
    // Why it cannot be read matters less than that it cannot: the problem names the file.
    return undefined;
  }
};

/** The specification as it is now, so that the run does not depend on what becomes of the file, or on its being committed. */
export const withSpecText = (
  { node: { uses, args }, fields }: NodeDraft,
  read: SpecFile | undefined,
): Args => {
  const path = firstText(args, ['spec_file']);
  const source = firstText(args, ['spec_source']) || 'inline';
  const given = firstText(args, ['spec_text']) !== '';
  if (uses !== PERSIST || read === undefined || path === '' || given || source === 'file') return args;
  const text = readSpec(path, read);
  if (text !== undefined) return { ...args, spec_text: text };
  fields.error(
    'WORKFLOW_SPEC_FILE',
    'args.spec_file',
    shown(path),
    'a file of the repository that can be read',
  );
  return args;
};
