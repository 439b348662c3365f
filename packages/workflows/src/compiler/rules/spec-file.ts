import type { NodeDraft } from '../node/node-draft.ts';
import { PERSIST } from '../node/labels.ts';
import { firstText, type Args } from '../node/node-args.ts';
import { shown } from '../../problems/report.ts';

/** Returns the text of a specification file, or undefined when it cannot be read. */
export type SpecFile = (path: string) => string | undefined;

const readSpec = (path: string, read: SpecFile): string | undefined => {
  try {
    return read(path);
  } catch {
    // The problem names the file; the reason adds nothing.
    return undefined;
  }
};

/** Embeds the specification, so that later changes of the file do not affect the run. */
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
