/** Limits of a command and of all processes that it starts. An undefined limit is not applied. */
export type CommandLimits = {
  /** Address space of each process. */
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
  ...(memoryBytes === undefined ? [] : [`--as=${String(memoryBytes)}:${String(memoryBytes)}`]),
  ...(processes === undefined ? [] : [`--nproc=${String(processes)}:${String(processes)}`]),
  ...(fileBytes === undefined ? [] : [`--fsize=${String(fileBytes)}:${String(fileBytes)}`]),
  ...(cpuSeconds === undefined
    ? []
    : [`--cpu=${String(cpuSeconds)}:${String(cpuSeconds + CPU_GRACE_SECONDS)}`]),
];
