/** Limits of a command and of all processes that it starts. An undefined limit is not applied. */
export type CommandLimits = {
  /** Private writable memory of each process. Address space that is only reserved does not count. */
  readonly memoryBytes?: number | undefined;
  /** Processes and threads of the user; with a user namespace, of the command alone. */
  readonly processes?: number | undefined;
  /** Size of each written file. */
  readonly fileBytes?: number | undefined;
  /** For each process. At the limit it gets SIGXCPU, and soon after SIGKILL. */
  readonly cpuSeconds?: number | undefined;
};

/** Time between SIGXCPU and SIGKILL. */
const CPU_GRACE_SECONDS = 5;

/** Arguments of prlimit(1). Soft and hard limits are both set, so that the command cannot raise them. */
export const limitArgs = ({
  memoryBytes,
  processes,
  fileBytes,
  cpuSeconds,
}: CommandLimits): readonly string[] => [
  ...(memoryBytes === undefined ? [] : [`--data=${String(memoryBytes)}:${String(memoryBytes)}`]),
  ...(processes === undefined ? [] : [`--nproc=${String(processes)}:${String(processes)}`]),
  ...(fileBytes === undefined ? [] : [`--fsize=${String(fileBytes)}:${String(fileBytes)}`]),
  ...(cpuSeconds === undefined
    ? []
    : [`--cpu=${String(cpuSeconds)}:${String(cpuSeconds + CPU_GRACE_SECONDS)}`]),
];

/** The same for `confine.pl`: resources of setrlimit(2) by their number. */
export const limitKeys = ({
  memoryBytes,
  processes,
  fileBytes,
  cpuSeconds,
}: CommandLimits): readonly string[] => {
  const key = (resource: number, value: number | undefined, more = 0): readonly string[] =>
    value === undefined ? [] : [`${String(resource)}:${String(value)}:${String(value + more)}`];
  return [
    ...key(0, cpuSeconds, CPU_GRACE_SECONDS),
    ...key(1, fileBytes),
    ...key(2, memoryBytes),
    ...key(6, processes),
  ];
};
