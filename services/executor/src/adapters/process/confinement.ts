/** How programs are started so that they are bounded: see `createConfinement`. All paths are absolute. */
export type Confinement = {
  /** Runs what follows under the limits; empty without any. */
  readonly limit: readonly string[];
  /** Without one, programs have only a process group of their own. */
  readonly namespace?: Namespace | undefined;
};

export type Namespace = {
  readonly unshare: string;
  /** Whoever is not root has a user namespace as well, and with it rights that the command is not to have. */
  readonly user?: { readonly setpriv: string } | undefined;
};

// The group's id has to be on the disk before the program does anything: else a crash in between would leave a program that
// nobody knows of. A shell waits for the word on descriptor 3, and turns into the program; without the word it ends.
const GATE = 'read -r word <&3 || exit 125; exec 3<&-; exec "$@"';

// The same, with a namespace of processes for what it starts. The first that is started there is its init: it ends when
// descriptor 3 does, which the executor holds open, and with it the kernel ends everything in the namespace. So nothing of a
// command outlives the executor, however that ends. Unlike a program, this init also takes note of whoever has lost its parent.
// The program itself is no init, because signals that it does not handle would then have no effect on it.
// On descriptor 4 it is said which process the init is, when the program begins, and what hinders that: see `listenToKeeper`.
// The program has neither.
const NAMESPACE_GATE = `read -r word <&3 || exit 125
(trap '' CHLD; exec cat <&3 >/dev/null 2>&1 4>&-) &
echo "$!" >&4
unshare=$1
shift
exec 5>&2 2>&4
exec "$unshare" --mount --fork --mount-proc -- /bin/sh -c 'echo started >&4; exec 2>&5 3<&- 4>&- 5>&-; exec "$@"' sh "$@"`;

/** Of a user namespace, nothing but the names of its user is left to the program. */
const DROP = ['--ambient-caps=-all', '--inh-caps=-all', '--'];

/** What is spawned to run `argv`: with a gate it begins once a line has come on descriptor 3. */
export const launchOf = (
  argv: readonly [string, ...string[]],
  { limit, namespace }: Confinement,
  gated: boolean,
): readonly [string, ...string[]] => {
  const [first, ...rest] = [...limit, ...argv];
  const limited: readonly [string, ...string[]] = [first ?? argv[0], ...rest];
  if (namespace === undefined) return gated ? ['/bin/sh', '-c', GATE, 'sh', ...limited] : limited;
  const { unshare, user } = namespace;
  const inside = user === undefined ? limited : [user.setpriv, ...DROP, ...limited];
  const rights = user === undefined ? [] : ['--user', '--map-current-user', '--keep-caps'];
  return [unshare, ...rights, '--pid', '--', '/bin/sh', '-c', NAMESPACE_GATE, 'sh', unshare, ...inside];
};

/** A program that is run as it is, in a process group of its own. */
export const UNCONFINED: Confinement = { limit: [] };
