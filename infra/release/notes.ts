import { Problem } from '../local/problem.ts';

/** The section of the changelog about a release, without its heading. Throws if there is none, or if it is empty. */
export const releaseNotes = (changelog: string, version: string): string => {
  const sections = changelog.split(/^## /m).slice(1);
  const section = sections.find((text) => (text.split('\n')[0] ?? '').trim() === version);
  const notes = section?.slice(section.indexOf('\n') + 1).trim() ?? '';
  if (notes === '') throw new Problem(`CHANGELOG.md has no text under "## ${version}": describe the release`);
  return `${notes}\n`;
};
