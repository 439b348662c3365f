/** How commands are bounded: see `createConfinement`. All paths are absolute. */
export type Confinement = {
  /** A prefix that applies the limits; empty without any. */
  readonly limit: readonly string[];
  /** Left out: commands have only a process group. */
  readonly namespace?: Namespace | undefined;
};

export type Namespace = {
  readonly unshare: string;
  /** A user namespace for executors that are not root. Its extra rights must be dropped for the command. */
  readonly user?: { readonly setpriv: string } | undefined;
};

// The id of the group must be on the disk before the command begins: otherwise a crash could leave an unknown process.
// A shell waits for a line on descriptor 3, and then becomes the command; without the line it exits.
const GATE = 'read -r word <&3 || exit 125; exec 3<&-; exec "$@"';

// The same, with a PID namespace. Its init exits when descriptor 3 closes, which the executor holds open, and the
// kernel then kills everything in the namespace: no process of a command outlives the executor. The init also reaps
// orphans. The command itself is not the init, because unhandled signals do not affect an init. Descriptor 4 reports
// the pid of the init, the start of the command, and errors: see `listenToKeeper`. The command gets neither
// descriptor.
const NAMESPACE_GATE = `read -r word <&3 || exit 125
(trap '' CHLD; exec cat <&3 >/dev/null 2>&1 4>&-) &
echo "$!" >&4
unshare=$1
shift
exec 5>&2 2>&4
exec "$unshare" --mount --fork --mount-proc -- /bin/sh -c 'echo started >&4; exec 2>&5 3<&- 4>&- 5>&-; exec "$@"' sh "$@"`;

/** Drops all rights of the user namespace but the names of its user. */
const DROP = ['--ambient-caps=-all', '--inh-caps=-all', '--'];

/** The command line that runs `argv`. With a gate it begins after a line on descriptor 3. */
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

/** A process with a group of its own, and no limits. */
export const UNCONFINED: Confinement = { limit: [] };
