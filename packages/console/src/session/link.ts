/** The code of a sign-in link, in a fragment that no server sees. */
const LINK = /^#\/sign-in\/(hpc_[\w-]{43})$/;

export const linkCodeIn = (hash: string): string | undefined => LINK.exec(hash)?.[1];

/** Takes the code out of the address first, so that reloads and copied addresses do not contain it. */
export const takeLinkCode = (): string | undefined => {
  const code = linkCodeIn(location.hash);
  if (code !== undefined) history.replaceState(null, '', `${location.pathname}${location.search}#/inbox`);
  return code;
};
